# The parts that forward proxies share.
module Servers
  # Endpoints lead through it to test servers, with and without TLS.
  class Forward < Server
    def secure_server = @secure_server ||= Origin.new("--tls", "--http2", "--tls-ca-out",
      File.join(dir, "origin-ca.pem"))

    def origin_ca = secure_server && File.join(dir, "origin-ca.pem")

    # To the test server through this proxy.
    def through(proxy) = Endpoint.new(behind.url, curl: ["-x", proxy], proxy: proxy)

    def tunnel(proxy) = Endpoint.new(secure_server.url, curl: ["-x", proxy, "--cacert", origin_ca], proxy: proxy,
      ca: origin_ca)

    def stop
      super
    ensure
      @secure_server&.stop
    end
  end
end
