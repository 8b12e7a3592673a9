# async-http: as many tasks as requests in flight, on one client that keeps their connections.
require "async"
require "async/http"
require_relative "kit"

class AsyncHttpDriver
  # Each task waits until its request is due.
  def self.paces = ["rate"]

  def initialize(job)
    @job, @reactor = job, Async::Reactor.new # kept, and its connections with it
    endpoint = Async::HTTP::Endpoint.parse(job.url, timeout: job.timeout)
    @client = Async::HTTP::Client.new(endpoint, retries: 1) # tries, the first included
  end

  def go(round) = @reactor.run { |task| @job.concurrency.times { task.async { work(round) } } }

  def close
    @reactor.run { @client.close }
    @reactor.close
  end

  private

  def work(round)
    while (url, taken = round.take)
      begin
        Kit::Pace.wait(taken) if round.paced?
        response = @client.public_send(@job.method.downcase, URI(url).request_uri, @job.headers)
        round.done(response.status, response.read.to_s, taken)
      rescue StandardError => error
        round.failed(error)
      end
    end
  end
end

Kit.run(AsyncHttpDriver, name: "async-http", version: Async::HTTP::VERSION, engine: "pure ruby", models: ["fibers"],
  max_concurrency: 1000)
