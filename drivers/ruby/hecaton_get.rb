# Hecaton, one request after another: as many threads as requests in flight, on one client that they share.
require "hecaton"
require_relative "threads"

class HecatonGetDriver < Kit::Threads
  def initialize(job)
    @client = Hecaton::Client.new(timeout: job.timeout, http: "1.1", idle_timeout: job.keepalive ? nil : 0)
    @options = { headers: (job.headers unless job.headers.empty?) }.compact
    super
  end

  def close = super && @client.close

  private

  def open = @client

  def perform(client, url)
    response = client.request(@job.method, url, **@options)
    [response.status, response.body]
  end
end

Kit.run(HecatonGetDriver, name: "hecaton-get", version: Hecaton::VERSION, engine: "hecaton", models: ["threads"],
  keepalive: [true, false], tls: true, verify: Kit::DECODING, max_concurrency: 512)
