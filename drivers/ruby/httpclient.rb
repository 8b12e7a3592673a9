# httpclient: one client that all threads share, as its documentation shows.
require "httpclient"
require_relative "threads"

# The library re-sends what failed on a reused connection, and has no option for it.
class Once < HTTPClient
  private def protect_keep_alive_disconnected = yield
end

class HttpclientDriver < Kit::Threads
  def initialize(job)
    @client = Once.new
    @client.connect_timeout = @client.send_timeout = @client.receive_timeout = @client.keep_alive_timeout = job.timeout
    @client.ssl_config.set_trust_ca(job.ca) if job.ca
    @headers = job.keepalive ? job.headers : { **job.headers, "Connection" => "close" }
    super
  end

  def close = super && @client.reset_all

  private

  def open = @client

  def perform(client, url)
    response = client.request(@job.method, url, header: @headers)
    [response.status, response.content]
  end
end

Kit.calls(*%w[method body fields timeout redirects cookies raw-url], close: :reset_all) do |call|
  http = call.client { HTTPClient.new }
  http.connect_timeout = http.send_timeout = http.receive_timeout = call.timeout
  options = { header: call.fields, body: call.body, follow_redirect: call.follow == true }
  response = http.request(call.method, call.url, **options)
  [response.status, response.body]
end

Kit.run(HttpclientDriver, name: "httpclient", version: HTTPClient::VERSION, engine: "pure ruby", models: ["threads"],
  tls: true, keepalive: [true, false], max_concurrency: 512)
