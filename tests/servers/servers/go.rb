# Go's net/http: HTTP/1.1 and HTTP/2 without TLS and over TLS of all kinds, graceful shutdowns under load, limits on
# streams.
module Servers
  class Go < Server
    include Listeners
    title "go"

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
       *[1, 10, 100].map { |most| listen(:"streams_#{most}", "h2c", streams: most) }, *secure]
    end

    def endpoints
      known = ->(name) { Endpoint.clear(port(name), http: "2", curl: ["--http2-prior-knowledge"]) }
      clear = Endpoint.clear(port(:clear))
      { clear: clear, early: clear, short: Endpoint.clear(port(:short)), h2: known[:h2c], early_h2: known[:h2c],
        **[1, 10, 100].to_h { |most| [:"streams_#{most}", known[:"streams_#{most}"]] }, **tls_endpoints }
    end
  end
end
