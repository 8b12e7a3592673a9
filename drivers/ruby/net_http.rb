# Net::HTTP: as many threads as requests in flight, each with one persistent connection.
require "net/http"
require_relative "kit"

class NetHttpDriver
  def initialize(job)
    @job = job
    @uri = URI(job.url)
    @verb = Net::HTTP.const_get(job.method.capitalize)
    @rounds = Queue.new
    @ended = Queue.new
    @lock = Mutex.new
    @threads = Array.new(job.concurrency) { Thread.new { work(connect) } } # not made while the clock runs
  end

  def go(round)
    @threads.size.times { @rounds << round }
    @threads.size.times { @ended.pop }
  end

  def close
    @rounds.close
    @threads.each(&:join)
  end

  private

  def connect
    Net::HTTP.new(@uri.host, @uri.port).tap do |http|
      http.max_retries = 0 # the default repeats a failed GET without a word
      http.keep_alive_timeout = 30
      http.open_timeout = http.read_timeout = http.write_timeout = @job.timeout
    end
  end

  def work(http)
    while (round = @rounds.pop)
      send_all(http, round)
      @ended << true
    end
    http.finish if http.started?
  end

  def send_all(http, round)
    while (url, taken = @lock.synchronize { round.take })
      begin
        http.start unless http.started?
        response = http.request(@verb.new(URI(url).request_uri, @job.headers))
        @lock.synchronize { round.done(response.code.to_i, response.body.to_s, taken) }
      rescue StandardError => error
        @lock.synchronize { round.failed(error.class) }
        http.finish if http.started?
      end
    end
  end
end

Kit.run(NetHttpDriver, name: "net-http", version: Net::HTTP::VERSION, engine: "pure ruby", models: ["threads"],
                       max_concurrency: 512)
