# Faraday on Typhoeus: one Hydra that refills itself, each finished request queueing the next.
# At a rate: threads without a Hydra.
require "typhoeus"
require "faraday"
require "typhoeus/adapters/faraday"
require_relative "faraday_calls"
require_relative "single"

class FaradayTyphoeusDriver
  prepend Kit::SingleAtARate

  def initialize(job)
    @job, @hydra = job, Typhoeus::Hydra.new(max_concurrency: job.concurrency) # kept, and its connections with it
    @faraday = Faraday.new(request: { timeout: job.timeout }, ssl: { ca_file: job.ca }) do |faraday|
      faraday.adapter(:typhoeus, forbid_reuse: !job.keepalive)
    end
  end

  def go(round) = @faraday.in_parallel(@hydra) { @job.concurrency.times { send_next(round) } }
  def close = Typhoeus::Pool.clear

  private

  def single(url)
    response = @faraday.run_request(@job.method.downcase.to_sym, url, nil, @job.headers)
    response.status.zero? ? [kind(response.env), nil] : [response.status, response.body]
  end

  def send_next(round)
    url, taken = round.take
    return unless url

    @faraday.run_request(@job.method.downcase.to_sym, url, nil, @job.headers).on_complete do |env|
      failed = env[:typhoeus_connection_failed] || env.status.zero?
      failed ? round.failed(kind(env)) : round.done(env.status, env.body, taken)
      send_next(round)
    end
  end

  def kind(env) = env[:typhoeus_return_message] || "timeout"
end

Kit.faraday_calls(:typhoeus)
Kit.run(FaradayTyphoeusDriver, name: "faraday-typhoeus", version: Faraday::VERSION,
  engine: Ethon::Curl.version[/libcurl\S+/], models: ["callbacks"], tls: true,
  keepalive: [true, false], max_concurrency: 1000)
