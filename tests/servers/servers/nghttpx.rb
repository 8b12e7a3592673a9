# nghttpx in front of the test server: HTTP/2 with and without TLS, ten streams a connection, another with short
# keep-alive.
module Servers
  class Nghttpx < Server
    title "nghttpx"
    program "nghttpx"
    version_by "--version"

    def streams = 10
    def reload = Process.kill(:HUP, pid)

    def commands
      [[path, *common, "-f127.0.0.1,#{port(:clear)};no-tls", "-f127.0.0.1,#{port(:tls)}",
        "--frontend-http2-max-concurrent-streams=#{streams}", *pair("rsa")],
       [path, *common, "-f127.0.0.1,#{port(:short)};no-tls",
        "-f127.0.0.1,#{port(:tls_p256)}", "--frontend-keep-alive-timeout=1s",
        "--frontend-http2-max-concurrent-streams=1", *pair("p256")],
       [path, *common, "-f127.0.0.1,#{port(:tls_client)}", "--verify-client",
        "--verify-client-cacert=#{certificates.ca}", *pair("p384")]]
    end

    def endpoints
      h2 = Endpoint.tls(port(:tls), certificates.ca, http: "2")
      shown = { client_cert: certificates.cert("client"), client_key: certificates.key_of("client") }
      { clear: Endpoint.clear(port(:clear)), short: Endpoint.clear(port(:short)), h2: h2, streams_10: h2,
        streams_1: Endpoint.tls(port(:tls_p256), certificates.ca, http: "2"),
        tls_rsa: Endpoint.tls(port(:tls), certificates.ca), tls_p256: Endpoint.tls(port(:tls_p256), certificates.ca),
        tls_client: Endpoint.tls(port(:tls_client), certificates.ca,
          curl: ["--cert", shown[:client_cert], "--key", shown[:client_key]], **shown) }
    end

    private

    def common = ["-b127.0.0.1,#{behind.port}", "--errorlog-file=/dev/stderr", "--accesslog-file=/dev/null",
                  "--workers=1", "--conf=/dev/null"]

    def pair(kind) = [certificates.key_of(kind), certificates.cert(kind)]
  end
end
