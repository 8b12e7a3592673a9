# Faraday on Hecaton: requests in parallel that refill themselves, each finished request queueing the next.
# At a rate: threads that share the connection.
require "hecaton/faraday"
require_relative "faraday_calls"
require_relative "single"

class FaradayHecatonDriver
  prepend Kit::SingleAtARate

  def initialize(job)
    @job = job
    @manager = Faraday::Adapter::Hecaton.setup_parallel_manager(concurrency: job.concurrency, raise_errors: false)
    @faraday = Faraday.new(request: { timeout: job.timeout }, ssl: { ca_file: job.ca }) do |faraday|
      faraday.adapter(:hecaton, idle_timeout: job.keepalive ? nil : 0)
    end
  end

  def go(round) = @faraday.in_parallel(@manager) { @job.concurrency.times { send_next(round) } }
  def close = @faraday.close

  private

  def single(url)
    response = @faraday.run_request(@job.method.downcase.to_sym, url, nil, @job.headers)
    [response.status, response.body]
  end

  def send_next(round)
    url, taken = round.take
    return unless url

    @faraday.run_request(@job.method.downcase.to_sym, url, nil, @job.headers).on_complete do |env|
      error = env[:hecaton_error]
      error ? round.failed(error) : round.done(env.status, env.body, taken)
      send_next(round)
    end
  end
end

Kit.faraday_calls(:hecaton)
Kit.run(FaradayHecatonDriver, name: "faraday-hecaton", version: Faraday::VERSION, engine: "hecaton",
  models: ["callbacks"], tls: true, keepalive: [true, false], max_concurrency: 1000)
