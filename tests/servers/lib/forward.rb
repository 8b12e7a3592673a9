# What forward proxies have in common.
module Servers
  # Doors lead through it to origins, in the clear and over TLS.
  class Forward < Server
    def secure_origin = @secure_origin ||= Origin.new("--tls", "--http2", "--tls-ca-out", File.join(dir, "origin-ca.pem"))
    def origin_ca = secure_origin && File.join(dir, "origin-ca.pem")

    # To the origin through this proxy.
    def through(proxy) = Door.new(behind.url, curl: ["-x", proxy], proxy: proxy)
    def tunnel(proxy) = Door.new(secure_origin.url, curl: ["-x", proxy, "--cacert", origin_ca], proxy: proxy, ca: origin_ca)

    def stop
      super
    ensure
      @secure_origin&.stop
    end
  end
end
