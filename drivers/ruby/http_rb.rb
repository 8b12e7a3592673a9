# http.rb: as many threads as requests in flight, each with a persistent client, or with `get` as its documentation
# begins.
require "http"
require_relative "threads"

GET = ARGV == ["get"]

class HttpRbDriver < Kit::Threads
  private

  def open # it never sends anything again
    seconds = @job.timeout
    client = @job.keepalive ? HTTP.persistent(@job.url, timeout: seconds) : HTTP
    client.timeout(connect: seconds, write: seconds, read: seconds)
  end

  def perform(client, url)
    client = open if GET
    response = client.request(@job.method, url, headers: @job.headers, ssl: { ca_file: @job.ca })
    [response.code, response.to_s]
  rescue StandardError
    client.close # else the next request would find this response unread
    raise
  end

  def shut(client) = client.close
end

Kit.calls(*%w[method body fields timeout redirects userinfo raw-url]) do |call|
  uri = URI(call.url)
  http = call.client { HTTP.persistent("http://#{uri.host}:#{uri.port}").timeout(call.timeout) }
  http = http.follow if call.follow
  response = http.request(call.method, call.url, headers: call.fields, body: call.body)
  [response.code, response.to_s]
end

Kit.run(HttpRbDriver, name: GET ? "http.rb-get" : "http.rb", version: HTTP::VERSION,
  engine: "pure ruby", models: ["threads"],
  tls: true, knows: Kit::EACH_REQUEST, keepalive: GET ? [false] : [true, false], max_concurrency: 512)
