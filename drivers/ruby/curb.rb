# curb: one Curl::Multi that refills itself, each finished handle being sent out again with the next URL.
require "curb"
require_relative "kit"

class CurbDriver
  # A handle, and when its request was taken.
  class Handle < Curl::Easy
    attr_accessor :taken
  end

  def initialize(job)
    @job = job
    @multi = Curl::Multi.new # kept, and its connections with it
    @handles = Array.new(job.concurrency) { handle }
  end

  # At a rate the block of `perform` sends what is due while other requests are in flight.
  def self.paces = ["rate"]

  def go(round)
    @round, @idle = round, @handles.dup
    Curl::Multi.default_timeout = round.paced? ? 1 : 100 # milliseconds from one call of the block to the next
    while take
      Kit::Pace.wait(@next.last) if round.paced? # nothing is in flight
      send_due
      round.paced? ? @multi.perform { send_due } : @multi.perform
    end
  end

  def close = @multi.close

  private

  def handle
    Handle.new.tap do |easy| # libcurl sends again only what a keep-alive connection, closed meanwhile, did not take
      easy.timeout_ms, easy.headers, easy.cacert = @job.timeout_ms, @job.headers, @job.ca
      easy.encoding = "gzip" if @job.gzip?
      easy.set(:forbid_reuse, 1) unless @job.keepalive
      easy.set(:customrequest, @job.method) unless @job.method == "GET"
      easy.on_success { ended(easy, done(easy)) }
      easy.on_missing { ended(easy, done(easy)) }
      easy.on_redirect { ended(easy, done(easy)) }
      # A status of 5xx comes here too.
      easy.on_failure { |_, (kind, _)| ended(easy, kind == Curl::Err::CurlOK ? done(easy) : @round.failed(kind)) }
    end
  end

  def done(easy) = @round.done(easy.response_code, easy.body_str, easy.taken)

  def ended(easy, _counted) # once its response has been counted
    @idle << easy
    send_due
  end

  # Taken when it can be sent: in the closed loop its latency counts from then.
  def take = @next ||= (@round.take unless @idle.empty?)

  def send_due
    while take && (!@round.paced? || Kit::Pace.left(@next.last).zero?)
      easy = @idle.pop
      easy.url, easy.taken = @next
      easy.headers = @job.headers if @job.differs?
      @next = nil
      @multi.add(easy)
    end
  end
end

Kit.run(CurbDriver, name: "curb", version: Curl::CURB_VERSION, engine: Curl::CURL_LONG_VERSION[/libcurl\S+/],
  models: ["callbacks"], max_concurrency: 1000, tls: true, verify: Kit::DECODING, knows: Kit::EACH_REQUEST,
  keepalive: [true, false])
