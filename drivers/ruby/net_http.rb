# Net::HTTP: as many threads as requests in flight, each with one persistent connection.
require "net/http"
require_relative "kit"

class NetHttpDriver
  def initialize(job)
    @job, @uri, @verb = job, URI(job.url), Net::HTTP.const_get(job.method.capitalize)
    @rounds, @ended, @lock = Queue.new, Queue.new, Mutex.new
    @threads = Array.new(job.concurrency) { Thread.new { work } } # not started while the clock runs
  end

  def go(round) = @threads.each { @rounds << round }.each { @ended.pop }
  def close = @rounds.close && @threads.each(&:join)

  private

  def work
    http = Net::HTTP.new(@uri.host, @uri.port)
    http.max_retries = 0 # the default sends a failed GET again without a word
    http.open_timeout = http.read_timeout = http.write_timeout = http.keep_alive_timeout = @job.timeout
    while (round = @rounds.pop)
      while (url, taken = @lock.synchronize { round.take })
        answer = answer_to(http, url)
        @lock.synchronize { answer.is_a?(String) ? round.failed(answer) : round.done(answer.code.to_i, answer.body.to_s, taken) }
      end
      @ended << true
    end
    http.finish if http.started?
  end

  def answer_to(http, url)
    (http.started? ? http : http.start).request(@verb.new(URI(url), @job.headers))
  rescue StandardError => error
    http.finish if http.started?
    error.class.name
  end
end

Kit.run(NetHttpDriver, name: "net-http", version: Net::HTTP::VERSION, engine: "pure ruby", models: ["threads"],
                       max_concurrency: 512)
