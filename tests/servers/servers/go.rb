# Go's net/http: HTTP/1.1 and HTTP/2 without TLS and over TLS of all kinds, graceful shutdowns under load, limits on
# streams. HTTP/3 by quic-go, on the port numbers of TLS.
module Servers
  class Go < Server
    include Listeners
    title "go"

    ["reload/3", "reload batch/3"].each { |check| leaves_out check, "its program reloads nothing of HTTP/3" }

    def self.program = [File.join(INSTALLED, "go/server")]
    def self.version = Open3.capture2e(GO, "version", path)[0][/go(\d\S+)$/, 1] || "unknown"

    def command = [path, file]
    def reload = Process.kill(:HUP, pid)
    def fields = true
    def codings = { "gzip" => "/gzipped" }
    # Go's default, without a setting.
    def streams = 100

    def listeners
      [listen(:clear, "http"), listen(:short, "http", idle: 1), listen(:h2c, "h2c"),
       *[1, 10, 100].map { |most| listen(:"streams_#{most}", "h2c", streams: most) }, *secure,
       *secure("h3").reject { |one| one[:max] == "1.2" }, listen_h3(1), listen_h3(10)]
    end

    # Beside the port of HTTP/2 with that limit.
    def listen_h3(most)
      listen(:"streams_#{most}", "h3", streams: most, cert: certificates.cert, key: certificates.key_of)
    end

    def endpoints
      known = ->(name) { Endpoint.clear(port(name), http: "2", curl: ["--http2-prior-knowledge"]) }
      clear = Endpoint.clear(port(:clear))
      h3 = ->(name) { Endpoint.http3(port(name), certificates.ca) }
      { clear: clear, early: clear, short: Endpoint.clear(port(:short)), h2: known[:h2c], early_h2: known[:h2c],
        h3: h3[:tls_rsa], early_h3: h3[:tls_rsa],
        streams_3_1: h3[:streams_1], streams_3_10: h3[:streams_10], streams_3_100: h3[:tls_rsa],
        **[1, 10, 100].to_h { |most| [:"streams_#{most}", known[:"streams_#{most}"]] }, **tls_endpoints }
    end
  end
end
