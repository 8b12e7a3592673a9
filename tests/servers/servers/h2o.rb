# h2o in front of the test server: TLS of most kinds, HTTP/2, a limit on bodies; reloaded by its master.
module Servers
  class H2o < Server
    include Kinds
    title "h2o"
    program "h2o"

    def command = [path, "-m", "master", "-c", "h2o.conf"]
    def configure = write("h2o.conf", text)
    def reload = Process.kill(:HUP, pid)
    def codings = { "gzip" => "/gzipped/bytes/100000", "br" => "/gzipped/bytes/100000" }
    def early_path = "/upload"

    explains "early/2", "h2o refuses the stream without a response when a body is too large", seen: /REFUSED_STREAM/

    # h2o demands no client certificates, reads no Ed25519 keys, and supports TLS 1.3 whatever its maximum is.
    def without_kinds = %w[client ed25519 12]

    def endpoints
      h2 = Endpoint.tls(port(:tls_rsa), certificates.ca, http: "2")
      { clear: Endpoint.clear(port(:clear)), early: Endpoint.clear(port(:clear)), early_h2: h2, h2: h2, streams_100: h2,
        **tls_endpoints }
    end

    private

    def text
      <<~CONF
        #{"user: www-data" if Process.uid.zero?}
        pid-file: #{dir}/pid
        error-log: /dev/stderr
        limit-request-body: 1000000
        listen: {host: 127.0.0.1, port: #{port(:clear)}}
        #{kinds.map { |kind| "listen: #{listen(kind)}" }.join("\n")}
        hosts:
          default:
            paths:
              /gzipped:
                compress: [gzip, br]
                proxy.reverse.url: http://127.0.0.1:#{behind.port}
              /:
                proxy.reverse.url: http://127.0.0.1:#{behind.port}
      CONF
    end

    def listen(kind)
      "{host: 127.0.0.1, port: #{kind.port}, ssl: {ocsp-update-interval: " \
      "0, certificate-file: #{kind.certificate}, key-file: #{kind.key}, " \
      "minimum-version: TLSv#{kind.versions.min}, max-version: TLSv#{kind.versions.max}}}"
    end
  end
end
