# Typhoeus, one request after another: as many threads as requests in flight, each sending by Typhoeus.get and its like.
require "typhoeus"
require_relative "threads"

class TyphoeusGetDriver < Kit::Threads
  def close = super && Typhoeus::Pool.clear

  private

  def open # libcurl sends nothing again but what a reused connection, already closed, did not take
    { headers: @job.headers, timeout_ms: @job.timeout_ms, forbid_reuse: !@job.keepalive, cainfo: @job.ca,
      accept_encoding: ("gzip" if @job.gzip?) }.compact
  end

  def perform(options, url)
    response = Typhoeus.public_send(@job.method.downcase, url, options)
    response.code.zero? ? [response.return_code, nil] : [response.code, response.body]
  end
end

Kit.run(TyphoeusGetDriver, name: "typhoeus-get", version: Typhoeus::VERSION, engine: Ethon::Curl.version[/libcurl\S+/],
  models: ["threads"], tls: true, verify: Kit::DECODING, keepalive: [true, false], max_concurrency: 512)
