# The common base of forward proxies.
module Servers
  # Endpoints lead through it to test servers, with and without TLS.
  class Forward < Server
    def secure_server = @secure_server ||= TestServer.new("--tls", "--http2", "--tls-ca-out",
      File.join(dir, "test-server-ca.pem"))

    def test_server_ca = secure_server && File.join(dir, "test-server-ca.pem")

    # To the test server through this proxy.
    def through(proxy) = Endpoint.new(behind.url, curl: ["-x", proxy], proxy: proxy)

    def tunnel(proxy) = Endpoint.new(secure_server.url, curl: ["-x", proxy, "--cacert", test_server_ca], proxy: proxy,
      ca: test_server_ca)

    def stop
      super
    ensure
      @secure_server&.stop
    end
  end
end
