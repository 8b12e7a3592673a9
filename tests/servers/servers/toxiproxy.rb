# toxiproxy between the gem and the test server. Its API adds and removes toxics.
module Servers
  class Toxiproxy < Server
    title "toxiproxy"

    def self.program = [File.join(INSTALLED, "go/toxiproxy-server")]

    def self.version = Open3.capture2e(GO, "version", "-m", path)[0][%r{Shopify/toxiproxy/v2\s+v(\S+)},
      1] || "unknown"

    def command = [path, "-host", "127.0.0.1", "-port", port(:api).to_s]
    def awaited = [port(:api)]

    def endpoints
      clear = Endpoint.clear(port(:clear))
      { clear: clear, toxics: clear }
    end

    # Applies this toxic to responses while the block runs.
    def toxic(type, attributes)
      api(Net::HTTP::Post, "/proxies/origin/toxics", name: "toxic", type: type, stream: "downstream", toxicity: 1.0,
        attributes: attributes)
      yield
    ensure
      api(Net::HTTP::Delete, "/proxies/origin/toxics/toxic")
    end

    # Ends all open connections.
    def cut_all
      api(Net::HTTP::Post, "/proxies/origin", enabled: false)
      api(Net::HTTP::Post, "/proxies/origin", enabled: true)
    end

    private

    def responds?
      api(Net::HTTP::Post, "/proxies", name: "origin", listen: "127.0.0.1:#{port(:clear)}",
        upstream: "127.0.0.1:#{behind.port}")
      super
    end

    def api(method, path, **json)
      request = method.new(path, "Content-Type" => "application/json", "User-Agent" => "hecaton")
      request.body = JSON.generate(json) if json.any?
      response = Net::HTTP.start("127.0.0.1", port(:api)) { |http| http.request(request) }
      raise "toxiproxy refused #{path}: #{response.code} #{response.body}" unless response.code.start_with?("2")
    end
  end
end
