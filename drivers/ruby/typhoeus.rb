# Typhoeus: one Hydra that refills itself, each finished request queueing the next. At a rate: threads without a Hydra.
require "typhoeus"
require_relative "single"

class TyphoeusDriver
  prepend Kit::SingleAtARate

  def initialize(job)
    @job = job
    shared = job.http2? ? { pipelining: 2 } : {} # CURLPIPE_MULTIPLEX
    @hydra = Typhoeus::Hydra.new(max_concurrency: job.concurrency, **shared) # kept, and its connections with it
    @options = options unless job.differs?
  end

  def go(round)
    @job.concurrency.times { send_next(round) }
    @hydra.run
  end

  def close = Typhoeus::Pool.clear

  private

  def options
    { method: @job.method.downcase.to_sym, headers: @job.headers, timeout_ms: @job.timeout_ms,
      forbid_reuse: !@job.keepalive, cainfo: @job.ca, body: @job.content,
      accept_encoding: ("gzip" if @job.gzip?), **version }.compact
  end

  # Over HTTP/2 a request waits until it is known whether it can share a connection.
  # Otherwise each of the first opens one.
  def version = @job.http2? ? { http_version: :httpv2_tls, pipewait: true } : {}

  def single(url)
    response = Typhoeus::Request.new(url, @options || options).run
    response.code.zero? ? [response.return_code, nil] : [response.code, response.body]
  end

  def send_next(round)
    url, taken = round.take
    return unless url

    request = Typhoeus::Request.new(url, @options || options)
    request.on_complete do |response|
      response.code.zero? ? round.failed(response.return_code) : round.done(response.code, response.body, taken)
      send_next(round)
    end
    @hydra.queue(request)
  end
end

engine = defined?(Hecaton) ? "hecaton" : Ethon::Curl.version[/libcurl\S+/]
Kit.calls(*%w[method body fields timeout redirects gzip raw-url]) do |call|
  call.client { Typhoeus::Pool.clear || true } # once for all calls of a case, whatever it returns
  options = { method: call.method.downcase.to_sym, headers: call.fields, body: call.body, timeout_ms: call.timeout_ms,
              followlocation: call.follow == true, accept_encoding: "gzip" }
  response = Typhoeus::Request.new(call.url, options.compact).run
  raise "#{response.return_code}: #{response.return_message}" unless response.return_code == :ok

  [response.code, response.body]
end

Kit.run(TyphoeusDriver, name: "typhoeus", version: Typhoeus::VERSION, engine: engine,
  models: ["callbacks"], tls: true, verify: Kit::DECODING, sends: %w[fields body], knows: Kit::EACH_REQUEST,
  keepalive: [true, false], http: defined?(Hecaton) ? %w[1.1] : %w[1.1 2],
  max_concurrency: 1000) # select() in Ethon ends at 1024 descriptors
