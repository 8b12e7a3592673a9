# em-http-request: as many persistent connections as requests in flight, in one EventMachine that never stops.
require "em-http-request"
require "em-http/version"
require_relative "kit"

class EmHttpRequestDriver
  # A timer wakes it when a request is due.
  def self.paces = ["rate"]

  def initialize(job)
    @job, @ended, @connections = job, Queue.new, Array.new(job.concurrency)
    STARTED.pop unless EM.reactor_running?
  end

  def go(round)
    @working = @job.concurrency
    EM.next_tick { @working.times { |index| send_next(index, round) } }
    @ended.pop
  end

  def close = EM.next_tick { @connections.compact.each { |connection| connection.close("done") } }

  private

  def send_next(index, round)
    url, taken = round.take
    return ((@working -= 1).zero? && @ended << true) unless url

    left = round.paced? ? Kit::Pace.left(taken) : 0
    left.positive? ? EM.add_timer(left) { start(index, round, url, taken) } : start(index, round, url, taken)
  end

  def start(index, round, url, taken)
    request = (@connections[index] ||= connection).public_send(@job.method.downcase, options(url))
    request.callback { round.done(request.response_header.status, request.response, taken); send_next(index, round) }
    request.errback { @connections[index] = nil; round.failed(request.error); send_next(index, round) }
  end

  # em-http-request sends nothing again by itself.
  def connection = EM::HttpRequest.new(@job.url, connect_timeout: @job.timeout, inactivity_timeout: @job.timeout)
  def options(url) = { path: URI(url).request_uri, head: @job.headers, keepalive: true }
end

Kit.calls(*%w[method body fields timeout redirects gzip], close: :close) do |call|
  STARTED.pop unless EM.reactor_running?
  uri, limits, ended = URI(call.url), { connect_timeout: call.timeout, inactivity_timeout: call.timeout }, Queue.new
  head = { "accept-encoding" => "gzip" }.merge(call.fields)
  redirects = call.redirects(10)
  options = { path: uri.path, query: uri.query, head: head, body: call.body, keepalive: true, redirects: redirects }
  EM.next_tick do
    request = call.client { EM::HttpRequest.new(call.url, limits) }.public_send(call.method.downcase, options.compact)
    [request.method(:callback), request.method(:errback)].each { |outcome| outcome.call { ended << request } }
  end
  request = ended.pop
  request.error ? raise(request.error) : [request.response_header.status, request.response]
end

EM.epoll # select() ends at 1024 descriptors
STARTED = Queue.new.tap { |started| Thread.new { EM.run { started << true } }.abort_on_exception = true }
Kit.run(EmHttpRequestDriver, name: "em-http-request", version: EM::HttpRequest::VERSION, engine: "EventMachine",
  models: ["events"], max_concurrency: 1000)
