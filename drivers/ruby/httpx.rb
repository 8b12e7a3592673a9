# HTTPX: as many threads as requests in flight, each with a session of its own, persistent if connections are reused.
require "httpx"
require_relative "threads"

class HttpxDriver < Kit::Threads
  private

  def open # the plugin would re-send what failed on a reused connection
    seconds = @job.timeout
    session = @job.keepalive ? HTTPX.plugin(:persistent).with(max_retries: 0) : HTTPX
    session.with(timeout: { connect_timeout: seconds, request_timeout: seconds }, fallback_protocol: "http/1.1",
      ssl: { ca_file: @job.ca, alpn_protocols: %w[http/1.1] }.compact)
  end

  def perform(session, url)
    response = session.request(@job.method, url, headers: @job.headers)
    raise response.error if response.is_a?(HTTPX::ErrorResponse)

    [response.status, response.body.to_s]
  end

  def shut(session) = (session.close if session.respond_to?(:close))
end

Kit.run(HttpxDriver, name: "httpx", version: HTTPX::VERSION, engine: "pure ruby", models: ["threads"],
  tls: true, knows: Kit::EACH_REQUEST, keepalive: [true, false], max_concurrency: 512)
