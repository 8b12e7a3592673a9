# Net::HTTP as its documentation begins: as many threads as requests in flight, each sending by Net::HTTP.get_response.
require "net/http"
require_relative "threads"

class NetHttpGetDriver < Kit::Threads
  private

  def open = nil

  def perform(_, url)
    response = Net::HTTP.get_response(URI(url), @job.headers) # it takes no time-out but the library's, of a minute
    [response.code.to_i, response.body]
  end
end

# It sends once again what failed, and nothing switches that off here.
Kit.run(NetHttpGetDriver, name: "net-http-get", version: Net::HTTP::VERSION, engine: "pure ruby", models: ["threads"],
  methods: ["GET"], retries: "fixed:1", tls: true, verify: Kit::DECODING, keepalive: [false], max_concurrency: 512)
