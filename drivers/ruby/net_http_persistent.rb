# net-http-persistent: one pool that all threads share, as its documentation shows.
require "net/http/persistent"
require_relative "threads"

# The library sends failed idempotent requests again, and so does Net::HTTP underneath; neither has an option for it.
class Once < Net::HTTP::Persistent
  def can_retry?(_request) = false
  def start(http) = super(http.tap { |below| below.max_retries = 0 })
end

class NetHttpPersistentDriver < Kit::Threads
  def initialize(job)
    @verb = Net::HTTP.const_get(job.method.capitalize)
    @http = Once.new(name: "driver", pool_size: job.concurrency)
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

Kit.run(NetHttpPersistentDriver, name: "net-http-persistent", version: Net::HTTP::Persistent::VERSION,
                                 engine: "net/http", models: ["threads"], tls: true, verify: Kit::DECODING, keepalive: [true, false],
                                 max_concurrency: 512)
