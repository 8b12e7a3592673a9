# Hecaton: one batch a round that refills itself, each finished request queueing the next. At a rate: threads that share
# the client.
require "hecaton"
require_relative "single"

class HecatonDriver
  prepend Kit::SingleAtARate

  def initialize(job)
    @job = job
    @options = options unless job.differs?
    # Its pool outlives the batches; with no time to be idle a connection is closed after its response.
    @client = Hecaton::Client.new(timeout: job.timeout, http: job.http || "1.1", idle_timeout: job.keepalive ? nil : 0)
  end

  def go(round)
    @client.batch(concurrency: @job.concurrency) do |batch|
      @job.concurrency.times { send_next(round, batch) }
    end
  end

  def close = @client.close

  private

  def options = { headers: (@job.headers unless @job.headers.empty?), body: @job.content }.compact

  def single(url)
    response = @client.request(@job.method, url, **(@options || options))
    [response.status, response.body]
  end

  def send_next(round, batch)
    url, taken = round.take
    return unless url

    batch.request(@job.method, url, **(@options || options)).on_complete do |outcome|
      if (response = outcome.response)
        round.done(response.status, response.body, taken)
      else
        round.failed(outcome.error)
      end
      send_next(round, batch)
    end
  end
end

Kit.calls(*%w[method body fields timeout redirects cookies gzip userinfo raw-url raw-method], *Kit::OWN,
  *%w[tls h2 h3 proxy proxy-environment hosts pool-size idle-timeout expect]) do |call|
  client = call.client do
    Hecaton::Client.new(timeout: 5, cookies: true, proxy: call.proxy || (call.environment ? nil : false), ca: call.ca,
      http: call.http, resolve: call.addresses, per_origin: call.pool_size, idle_timeout: call.idle_timeout)
  end
  options = { headers: call.fields, body: call.body, timeout: call.timeout, redirects: call.redirects(20) }
  response = client.request(call.method, call.url, **options.compact)
  [response.status, response.body]
end

Kit.run(HecatonDriver, name: "hecaton-ruby", version: Hecaton::VERSION, engine: "hecaton", models: ["batch"],
  keepalive: [true, false], tls: true, http: %w[1.1 2 3], verify: Kit::DECODING,
  sends: %w[fields body], knows: Kit::EACH_REQUEST,
  max_concurrency: 10_000)
