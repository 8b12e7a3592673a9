# Keeps one pool that all threads share, in the manner of net-http-persistent: the part that its driver and Hecaton's
# share.
require_relative "threads"

module Kit
  # `pool` is the class that an audit's calls use, with its own retries.
  def self.calls_persistent(pool)
    calls(*%w[method body fields timeout gzip raw-url], close: :shutdown) do |call|
      http, uri = call.client { pool.new(name: "audit") }, URI(call.url)
      http.open_timeout = http.read_timeout = http.write_timeout = call.timeout
      request = Net::HTTP.const_get(call.method.capitalize).new(uri, call.fields)
      request.body = call.body
      response = http.request(uri, request)
      [response.code.to_i, response.body]
    end
  end

  # A driver says which class makes the pool (`pool`).
  class Persistent < Threads
    def initialize(job)
      @verb = Net::HTTP.const_get(job.method.capitalize)
      @http = pool.new(name: "driver", pool_size: job.concurrency)
      @http.open_timeout = @http.read_timeout = @http.write_timeout = job.timeout
      @http.idle_timeout, @http.ca_file = job.keepalive ? job.timeout : 0, job.ca # with 0, none is used again
      super
    end

    def close = super && @http.shutdown

    private

    def open = @http

    def perform(http, url)
      uri = URI(url)
      response = http.request(uri, @verb.new(uri, @job.headers))
      [response.code.to_i, response.body.to_s]
    end
  end
end
