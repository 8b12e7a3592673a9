# Excon: as many threads as requests in flight, each with one Connection, persistent if connections are kept.
require "excon"
require_relative "threads"

class ExconDriver < Kit::Threads
  private

  def open # it does not send again what failed, unless a request is said to be idempotent
    seconds = @job.timeout
    Excon.new(@job.url, persistent: @job.keepalive, ssl_ca_file: @job.ca,
      connect_timeout: seconds, read_timeout: seconds, write_timeout: seconds)
  end

  def ask(connection, url)
    response = connection.request(method: @job.method, path: URI(url).request_uri, headers: @job.headers)
    [response.status, response.body]
  end

  def shut(connection) = connection.reset
end

Kit.run(ExconDriver, name: "excon", version: Excon::VERSION, engine: "pure ruby", models: ["threads"],
  tls: true, keepalive: [true, false], max_concurrency: 512)
