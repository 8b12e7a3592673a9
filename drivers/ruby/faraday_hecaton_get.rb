# Faraday on Hecaton: as many threads as requests in flight, each waiting for its response.
require "hecaton/faraday"
require_relative "threads"

class FaradayHecatonGetDriver < Kit::Threads
  def initialize(job)
    @connection = Faraday.new(request: { timeout: job.timeout }, ssl: { ca_file: job.ca }) do |faraday|
      faraday.adapter(:hecaton, idle_timeout: job.keepalive ? nil : 0)
    end
    super
  end

  def close = super && @connection.close

  private

  def open = @connection

  def perform(connection, url)
    response = connection.run_request(@job.method.downcase.to_sym, url, nil, @job.headers)
    [response.status, response.body]
  end
end

Kit.run(FaradayHecatonGetDriver, name: "faraday-hecaton-get", version: Faraday::VERSION, engine: "hecaton",
  models: ["threads"], tls: true, keepalive: [true, false], max_concurrency: 512)
