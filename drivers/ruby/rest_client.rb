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

Kit.run(RestClientDriver, name: "rest-client", version: RestClient::VERSION, engine: "net/http", models: ["threads"],
  tls: true, keepalive: [false], max_concurrency: 512)
