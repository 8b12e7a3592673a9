# Hecaton::Persistent: what net-http-persistent offers, one pool that all threads share.
require "hecaton/net_http"
require_relative "threads"

class HecatonPersistentDriver < Kit::Threads
  def initialize(job)
    @verb = Net::HTTP.const_get(job.method.capitalize)
    @http = Hecaton::Persistent.new(name: "driver", pool_size: job.concurrency)
    @http.open_timeout = @http.read_timeout = @http.write_timeout = job.timeout
    @http.idle_timeout, @http.ca_file = job.keepalive ? job.timeout : 0, job.ca # with 0, none is used again
    super
  end

  def close = super && @http.shutdown

  private

  def open = @http

  def ask(http, url)
    uri = URI(url)
    response = http.request(uri, @verb.new(uri, @job.headers))
    [response.code.to_i, response.body.to_s]
  end
end

Kit.run(HecatonPersistentDriver, name: "hecaton-persistent", version: Hecaton::VERSION, engine: "hecaton",
                                 models: ["threads"], tls: true, verify: Kit::DECODING, keepalive: [true, false],
                                 max_concurrency: 512)
