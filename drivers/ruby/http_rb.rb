# http.rb: as many threads as requests in flight, each with one persistent client; it never sends anything again.
require "http"
require_relative "threads"

class HttpRbDriver < Kit::Threads
  private

  def open
    seconds = @job.timeout
    HTTP.persistent(@job.url, timeout: seconds).timeout(connect: seconds, write: seconds, read: seconds)
  end

  def ask(client, url)
    response = client.request(@job.method, url, headers: @job.headers)
    [response.code, response.to_s]
  rescue StandardError
    client.close # else the next request would find this answer unread
    raise
  end

  def shut(client) = client.close
end

Kit.run(HttpRbDriver, name: "http.rb", version: HTTP::VERSION, engine: "pure ruby", models: ["threads"],
                      max_concurrency: 512)
