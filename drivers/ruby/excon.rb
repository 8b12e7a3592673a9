# Excon: as many threads as requests in flight, each with one Connection, persistent if connections are reused.
require "excon"
require_relative "threads"

class ExconDriver < Kit::Threads
  private

  def open # it does not send again what failed, unless a request is said to be idempotent
    seconds = @job.timeout
    Excon.new(@job.url, persistent: @job.keepalive, ssl_ca_file: @job.ca,
      connect_timeout: seconds, read_timeout: seconds, write_timeout: seconds)
  end

  def perform(connection, url)
    response = connection.request(method: @job.method, path: URI(url).request_uri, headers: @job.headers)
    [response.status, response.body]
  end

  def shut(connection) = connection.reset
end

Kit.calls(*%w[method body fields timeout gzip raw-url]) do |call|
  uri = URI(call.url)
  limits = { connect_timeout: call.timeout, read_timeout: call.timeout, write_timeout: call.timeout }
  excon = call.client { Excon.new("http://#{uri.host}:#{uri.port}", persistent: true, **limits) }
  sent = { method: call.method, path: uri.path, query: uri.query, headers: call.fields, body: call.body }
  response = excon.request(**sent, **limits)
  [response.status, response.body]
end

Kit.run(ExconDriver, name: "excon", version: Excon::VERSION, engine: "pure ruby", models: ["threads"],
  tls: true, knows: Kit::EACH_REQUEST, keepalive: [true, false], max_concurrency: 512)
