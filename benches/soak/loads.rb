# The work of the soak: single requests, streams and batches, with retries and without, from many threads.
require_relative "tally"

# One client's work in threads of its own, until `stop`.
class Load
  attr_reader :name, :server, :client, :tally

  def initialize(name, server, url, number, client)
    @name = name
    @server = server
    @url = url
    @number = number
    @client = client
    @tally = Tally.new
    @next = 0
    @stopped = false
    @thread = Thread.new { watched { work } }
  end

  def stop = @stopped = true

  # Whether it ends within this many seconds.
  def join(seconds) = !@thread.join(seconds).nil?

  def close = @client.close

  private

  # Loads differ in the lower bits of their ids, so that no two request the same one.
  def id
    @next += 1
    @next * 32 + @number
  end

  def path(id) = "#{@url}/r/#{id}"

  def watched
    yield
  rescue Exception => e # rubocop:disable Lint/RescueException -- whatever it is, it is a fault
    tally.fault("the load #{name} ended by #{e.full_message(highlight: false)}")
  end

  def finish(id, outcome)
    response = outcome.response
    tally.finish(id, outcome.attempts, response&.status, response&.body&.bytesize, outcome.error)
  end
end

# One request after the other.
class Single < Load
  def work
    until @stopped
      tally.start(number = id)
      outcome =
        begin
          request(number)
        rescue Hecaton::Error => e
          e
        end
      finish(number, outcome)
    end
  end

  private

  def request(id) = @client.get(path(id))
end

# Single requests with a body; one in ten is so large that it is still under way when an early response comes.
class Posted < Single
  BODY = ("x" * 5_000).freeze
  LARGE = ("x" * 300_000).freeze

  private

  def request(id) = @client.post(path(id), body: (id / 32 % 10).zero? ? LARGE : BODY)
end

# Single requests whose bodies are read piece by piece.
class Streamed < Load
  def work
    until @stopped
      tally.start(number = id)
      begin
        @client.get(path(number)) do |response|
          size = 0
          response.each_chunk { |chunk| size += chunk.bytesize }
          tally.finish(number, response.attempts, response.status, size, nil)
        end
      rescue Hecaton::Error => e
        tally.finish(number, e.attempts, nil, nil, e)
      end
    end
  end
end

# A batch that its callbacks refill.
class Refilled < Load
  CONCURRENCY = 50

  def work
    @client.batch(concurrency: CONCURRENCY) do |batch|
      @batch = batch
      (CONCURRENCY + 10).times { queue }
    end
  end

  private

  def queue
    tally.start(number = id)
    @batch.get(path(number)).on_complete do |outcome|
      finish(number, outcome)
      queue unless @stopped
    end
  end
end

# Endless URLs, requested as fast as their outcomes are taken.
class Lazy < Load
  CONCURRENCY = 20

  def work
    @pending = {}
    @client.each_response(urls, concurrency: CONCURRENCY) { |outcome, url| finish(@pending.delete(url), outcome) }
  end

  private

  def urls
    Enumerator.new do |urls|
      until @stopped
        tally.start(number = id)
        @pending[path(number)] = number
        urls << path(number)
      end
    end
  end
end

# The loads of the soak.
module Loads
  TIMEOUT = 2.0
  RETRY = { max: 3, interval: 0.01, statuses: [500] }.freeze
  # Kind, server, whether it retries, and how many loads share a client.
  ALL = [
    [Single, :plain, false, 3], [Single, :plain, true, 2], [Streamed, :plain, false, 2], [Streamed, :plain, true, 1],
    [Refilled, :plain, false, 1], [Refilled, :plain, true, 1], [Posted, :plain, false, 1],
    [Posted, :tls, false, 1], [Single, :tls, false, 1], [Streamed, :tls, true, 1], [Refilled, :tls, true, 1],
    [Lazy, :plain, false, 1], [Lazy, :http2, true, 1],
    [Single, :http2, true, 1], [Streamed, :http2, false, 1], [Posted, :http2, false, 1],
    [Single, :http2_tls, true, 1], [Streamed, :http2_tls, false, 1], [Refilled, :http2_tls, false, 1]
  ].freeze

  module_function

  def all(servers)
    number = 0
    ALL.flat_map do |kind, server, retries, count|
      client = client(servers, server, retries)
      Array.new(count) do
        name = [kind.name.downcase, server, ("retry" if retries), number].compact.join("-")
        kind.new(name, server, servers.url(server), number, client).tap { number += 1 }
      end
    end
  end

  def client(servers, server, retries)
    Hecaton::Client.new(timeout: TIMEOUT, retry: (RETRY if retries), **servers.settings(server))
  end
end
