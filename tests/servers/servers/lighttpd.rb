# lighttpd in front of the test server: TLS of most kinds, HTTP/2, short keep-alive, a limit on bodies.
module Servers
  class Lighttpd < Server
    include Kinds
    title "lighttpd"
    program "lighttpd"
    version_by "-v"

    %w[cut cut/2].each do |check|
      explains check, "lighttpd ends a chunked body that its back end cut as if it were whole",
        seen: /truncate-chunked: 200 with \d+ bytes/
    end

    def command = [path, "-D", "-f", File.join(dir, "lighttpd.conf")]

    def configure
      write("static.txt", "It codes files, and nothing that comes from behind. " * 400)
      write("lighttpd.conf", text)
    end

    def reload = Process.kill(:USR1, pid)
    def codings = { "gzip" => "/static.txt" }
    def early_path = "/upload"

    def endpoints
      { clear: Endpoint.clear(port(:clear)), short: Endpoint.clear(port(:short)), early: Endpoint.clear(port(:limited)),
        h2: Endpoint.tls(port(:tls_rsa), certificates.ca, http: "2"),
        trailers: Endpoint.tls(port(:trailers), certificates.ca, http: "2"), **tls_endpoints }
    end

    # Debian packages the module by itself.
    def supports?(need) = super && (need != :codings || File.exist?("/usr/lib/lighttpd/mod_deflate.so"))

    # Its HTTP/2 allows 8.
    def streams = 8

    private

    def text
      <<~CONF
        server.modules = ("mod_proxy", "mod_openssl", #{'"mod_deflate"' if supports?(:codings)})
        server.bind = "127.0.0.1"
        server.port = #{port(:clear)}
        server.document-root = "#{dir}"
        server.upload-dirs = ("#{dir}")
        server.errorlog = "/dev/stderr"
        server.max-keep-alive-requests = 100000
        server.feature-flags = ("server.graceful-restart-bg" => "enable")
        server.stream-request-body = 1
        mimetype.assign = (".txt" => "text/plain")
        $HTTP["url"] == "/static.txt" {
          deflate.mimetypes = ("text/plain")
          deflate.allowed-encodings = ("gzip")
        }
        $SERVER["socket"] != "127.0.0.1:#{port(:trailers)}" { $HTTP["url"] != "/static.txt" {
          #{to(behind)}
        } }
        #{listen(:short, "server.max-keep-alive-idle = 1")}
        #{listen(:limited, "server.max-request-size = 1000")}
        #{listen(:trailers, "#{secure(kinds.first)}\nserver.stream-response-body = 2\n#{to(back_end)}")}
        #{kinds.map { |kind| listen(:"tls_#{kind.name}", secure(kind)) }.join("\n")}
      CONF
    end

    def to(back_end) = "proxy.server = (\"\" => ((\"host\" => \"127.0.0.1\", \"port\" => #{back_end.port})))"

    def listen(name, more) = "$SERVER[\"socket\"] == \"127.0.0.1:#{port(name)}\" {\n#{more}\n}"

    def secure(kind)
      demand = "ssl.ca-file = \"#{certificates.ca}\"\nssl.verifyclient.activate " \
        "= \"enable\"\nssl.verifyclient.enforce = \"enable\"" if kind.demands?
      "ssl.engine = \"enable\"\nssl.pemfile = \"#{kind.both}\"\n" \
      "ssl.openssl.ssl-conf-cmd = (\"MinProtocol\" => \"TLSv#{kind.versions.min}\", " \
      "\"MaxProtocol\" => \"TLSv#{kind.versions.max}\")\n#{demand}"
    end
  end
end
