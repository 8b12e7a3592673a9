# Net::HTTP as its documentation begins: as many threads as requests in flight, each sending by Net::HTTP.get_response.
require "net/http"
require_relative "threads"

# Net::HTTP.get_response takes no time limit, and has the library's, of a minute. So each connection gets it here.
module Limited
  class << self
    attr_accessor :seconds
  end

  def initialize(*)
    super
    self.open_timeout = self.read_timeout = Limited.seconds
  end
end
Net::HTTP.prepend(Limited)

class NetHttpGetDriver < Kit::Threads
  def initialize(job)
    Limited.seconds = job.timeout
    super
  end

  private

  def open = nil

  def perform(_, url)
    response = Net::HTTP.get_response(URI(url), @job.headers)
    [response.code.to_i, response.body]
  end
end

# It sends once again what failed, and nothing switches that off here.
Kit.run(NetHttpGetDriver, name: "net-http-get", version: Net::HTTP::VERSION, engine: "pure ruby", models: ["threads"],
  methods: ["GET"], retries: "fixed:1", tls: true, verify: Kit::DECODING, keepalive: [false], max_concurrency: 512)
