# rest-client: as many threads as requests in flight; it opens a connection for each request, and cannot keep it.
require "rest-client"
require_relative "threads"

class RestClientDriver < Kit::Threads
  private

  def open = nil

  def perform(_, url)
    response = RestClient::Request.execute(method: @job.method, url: url, headers: @job.headers, max_redirects: 0,
      timeout: @job.timeout, ssl_ca_file: @job.ca)
    [response.code, response.body]
  rescue RestClient::ExceptionWithResponse => error
    raise unless error.response

    [error.response.code, error.response.body]
  end
end

Kit.calls(*%w[method body fields timeout redirects gzip userinfo raw-url]) do |call|
  redirects = { max_redirects: call.redirects(10) }.compact
  response = RestClient::Request.execute(method: call.method.downcase.to_sym, url: call.url, headers: call.fields,
    payload: call.body, timeout: call.timeout, **redirects)
  [response.code, response.body]
rescue RestClient::ExceptionWithResponse => error
  error.response ? [error.response.code, error.response.body] : raise
end

Kit.run(RestClientDriver, name: "rest-client", version: RestClient::VERSION, engine: "net/http", models: ["threads"],
  tls: true, keepalive: [defined?(Hecaton) ? true : false], max_concurrency: 512)
