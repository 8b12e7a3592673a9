# Excon as its documentation begins: as many threads as requests in flight, each sending by Excon.get and its like.
require "excon"
require_relative "threads"

class ExconGetDriver < Kit::Threads
  private

  def open # it does not send again what failed, unless a request is said to be idempotent
    seconds = @job.timeout
    { headers: @job.headers, ssl_ca_file: @job.ca, connect_timeout: seconds, read_timeout: seconds,
      write_timeout: seconds }
  end

  def perform(options, url)
    response = Excon.public_send(@job.method.downcase, url, options)
    [response.status, response.body]
  end
end

Kit.run(ExconGetDriver, name: "excon-get", version: Excon::VERSION, engine: "pure ruby", models: ["threads"],
  tls: true, keepalive: [false], max_concurrency: 512)
