# Node: its own http and http2, and Express and Fastify on top.
module Servers
  class NodeHttp < Server
    include Listeners
    title "node-http"
    program "node"

    def command = [path, File.join(HOME, "apps/node/app.mjs"), "plain", file]
    def listeners = [listen(:clear, "http"), listen(:short, "http", idle: 1), *secure("https")]
    def fields = true
    def codings = { "gzip" => "/gzipped", "deflate" => "/deflated", "br" => "/brotli" }

    def endpoints
      clear = Endpoint.clear(port(:clear))
      { clear: clear, early: clear, short: Endpoint.clear(port(:short)), **tls_endpoints }
    end
  end

  class NodeHttp2 < Server
    include Listeners
    title "node-http2"
    program "node"

    FEW = 100

    def command = [path, File.join(HOME, "apps/node/app.mjs"), "plain", file]
    def fields = true
    def codings = { "gzip" => "/gzipped", "deflate" => "/deflated", "br" => "/brotli" }

    def listeners
      [listen(:h2c, "h2c"), listen(:few, "h2c", most: FEW),
       *[1, 10, 100].map { |most| listen(:"streams_#{most}", "h2c", streams: most) }, *secure]
    end

    def endpoints
      known = ->(name) { Endpoint.clear(port(name), http: "2", curl: ["--http2-prior-knowledge"]) }
      { clear: Endpoint.tls(port(:tls_rsa), certificates.ca, http: "1.1", curl: ["--http1.1"]),
        h2: known[:h2c], early_h2: known[:h2c], few: known[:few],
        **[1, 10, 100].to_h { |most| [:"streams_#{most}", known[:"streams_#{most}"]] }, **tls_endpoints }
    end
  end

  # The frameworks differ in how they refuse a body; the rest is Node's own server.
  class Framework < Server
    include Listeners

    def self.path
      File.directory?(File.join(INSTALLED, "node/node_modules",
        title)) ? super : raise(Absent, "#{title} is not installed: bin/setup servers")
    end

    def self.version = JSON.parse(File.read(File.join(INSTALLED, "node/node_modules", title,
      "package.json")))["version"]

    # Node looks for packages beside the program.
    def command = [path, File.join(INSTALLED, "node/app.mjs"), title, file]
    def listeners = [listen(:clear, "http"), listen(:short, "http", idle: 1)]

    def endpoints
      { clear: Endpoint.clear(port(:clear)), early: Endpoint.clear(port(:clear)), short: Endpoint.clear(port(:short)) }
    end

    def configure
      FileUtils.cp(File.join(HOME, "apps/node/app.mjs"), File.join(INSTALLED, "node/app.mjs"))
      super
    end
  end

  class Express < Framework
    title "express"
    program "node"
  end

  class Fastify < Framework
    title "fastify"
    program "node"

    %w[verbs chunked expect large].each { |check|
      leaves_out check, "its program responds only to GET /echo and POST /early"
    }
  end
end
