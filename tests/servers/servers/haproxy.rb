# HAProxy in front of the test server: TLS of all kinds, HTTP/2, short keep-alive, bodies refused; reloaded by its
# master.
module Servers
  class Haproxy < Server
    include Kinds
    title "haproxy"
    program "haproxy"
    version_by "-v"

    def command = [path, "-W", "-db", "-f", File.join(dir, "haproxy.cfg")]
    def configure = write("haproxy.cfg", text)
    def reload = Process.kill(:USR2, pid)
    def codings = { "gzip" => "/bytes/100000" }
    def early_path = "/upload"

    def endpoints
      h2 = Endpoint.tls(port(:tls_rsa), certificates.ca, http: "2")
      { clear: Endpoint.clear(port(:clear)), short: Endpoint.clear(port(:short)),
        early: Endpoint.clear(port(:limited)), h2: h2, streams_100: h2,
        early_h2: Endpoint.tls(port(:limited_tls), certificates.ca, http: "2"), **tls_endpoints }
    end

    private

    def text
      <<~CONF
        global
          stats socket #{dir}/admin.sock mode 600 level admin expose-fd listeners
          hard-stop-after 10s
        defaults
          mode http
          timeout connect 5s
          timeout client 20s
          timeout server 20s
          timeout http-keep-alive 10s
          compression algo gzip
          compression type text/plain application/octet-stream
        backend origin
          server origin 127.0.0.1:#{behind.port}
        #{listen(:clear)}
        #{listen(:short, "timeout http-keep-alive 1s")}
        #{listen(:limited, "http-request deny deny_status 413")}
        #{listen(:limited_tls, "http-request deny deny_status 413", secure(kinds.first))}
        #{kinds.map { |kind| listen(:"tls_#{kind.name}", "", secure(kind)) }.join("\n")}
      CONF
    end

    def listen(name, more = "", secure = "")
      "frontend #{name}\n  bind 127.0.0.1:#{port(name)} #{secure}\n  #{more}\n  default_backend origin"
    end

    def secure(kind)
      "ssl crt #{kind.both} alpn h2,http/1.1 ssl-min-ver " \
      "TLSv#{kind.versions.min} ssl-max-ver TLSv#{kind.versions.max} " \
      "#{"ca-file #{certificates.ca} verify required" if kind.demands?}"
    end
  end
end
