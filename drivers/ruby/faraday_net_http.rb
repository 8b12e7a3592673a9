# Faraday on Net::HTTP: as many threads as requests in flight; this adapter opens a connection for each request.
require "faraday"
require_relative "faraday_calls"
require_relative "threads"

class FaradayNetHttpDriver < Kit::Threads
  def initialize(job)
    seconds = { timeout: job.timeout, open_timeout: job.timeout }
    # It sends nothing again.
    @connection = Faraday.new(request: seconds, ssl: { ca_file: job.ca }) { |faraday| faraday.adapter(:net_http) }
    super
  end

  private

  def open = @connection

  def perform(connection, url)
    response = connection.run_request(@job.method.downcase.to_sym, url, nil, @job.headers)
    [response.status, response.body]
  end
end

Kit.faraday_calls(:net_http)
Kit.run(FaradayNetHttpDriver, name: "faraday-net-http", version: Faraday::VERSION, engine: "net/http",
  models: ["threads"], tls: true, keepalive: [false], max_concurrency: 512)
