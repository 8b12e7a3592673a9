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

  def go(round) = (@round = round) && @handles.each { |easy| send_next(easy) } && @multi.perform
  def close = @multi.close

  private

  def handle
    Handle.new.tap do |easy| # libcurl sends again only what a kept connection, closed meanwhile, did not take
      easy.timeout_ms, easy.headers, easy.cacert = @job.timeout_ms, @job.headers, @job.ca
      easy.encoding = "gzip" if @job.gzip?
      easy.set(:forbid_reuse, 1) unless @job.keepalive
      easy.set(:customrequest, @job.method) unless @job.method == "GET"
      easy.on_success { send_next(easy, @round.done(easy.response_code, easy.body_str, easy.taken)) }
      easy.on_missing { send_next(easy, @round.failed("status #{easy.response_code}")) }
      easy.on_failure { |_, (kind, _)| send_next(easy, @round.failed(kind)) } # a status of 5xx, too
    end
  end

  def send_next(easy, _counted = nil) # once its last response, if there was one, has been counted
    easy.url, easy.taken = @round.take
    @multi.add(easy) if easy.url
  end
end

Kit.run(CurbDriver, name: "curb", version: Curl::CURB_VERSION, engine: Curl::CURL_LONG_VERSION[/libcurl\S+/],
  models: ["callbacks"], max_concurrency: 1000, tls: true, verify: Kit::DECODING, keepalive: [true, false])
