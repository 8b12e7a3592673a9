# Net::HTTP: as many threads as requests in flight, each with one persistent connection.
require "net/http"
require_relative "threads"

class NetHttpDriver < Kit::Threads
  def initialize(job)
    @uri, @verbs = URI(job.url), Hash.new { |verbs, method| verbs[method] = Net::HTTP.const_get(method.capitalize) }
    super
  end

  private

  def open
    Net::HTTP.new(@uri.hostname, @uri.port).tap do |http|
      http.use_ssl, http.ca_file = @uri.scheme == "https", @job.ca
      http.max_retries = 0 # the default sends a failed GET again without a word
      http.open_timeout = http.read_timeout = http.write_timeout = http.keep_alive_timeout = @job.timeout
    end
  end

  def perform(http, url)
    response = (http.started? ? http : http.start)
      .request(@verbs[@job.method].new(URI(url), @job.headers), @job.content)
    shut(http) unless @job.keepalive
    [response.code.to_i, response.body.to_s]
  rescue StandardError
    shut(http)
    raise
  end

  def shut(http) = (http.finish if http.started?)
end

# Hecaton instead of it has a pool of connections, whatever is finished.
keepalive = defined?(Hecaton) ? [true] : [true, false]
Kit.calls(*%w[method body fields timeout gzip raw-url tls proxy expect fork close], close: :finish) do |call|
  uri = URI(call.url)
  Kit.drop_client if call.keep[:client] && call.keep[:client].port != uri.port # it belongs to one host and port
  http = call.client do
    proxy = URI(call.proxy.to_s)
    Net::HTTP.start(uri.hostname, uri.port, proxy.host, proxy.port, proxy.user, proxy.password,
      use_ssl: uri.scheme == "https", ca_file: call.ca, open_timeout: call.timeout)
  end
  http.open_timeout = http.read_timeout = http.write_timeout = call.timeout
  response = http.request(Net::HTTP.const_get(call.method.capitalize).new(uri, call.fields), call.body)
  [response.code.to_i, response.body]
end

Kit.run(NetHttpDriver, name: "net-http", version: Net::HTTP::VERSION,
  engine: defined?(Hecaton) ? "hecaton" : "pure ruby", models: ["threads"], tls: true, verify: Kit::DECODING,
  sends: %w[fields body], knows: Kit::EACH_REQUEST, keepalive: keepalive, max_concurrency: 512)
