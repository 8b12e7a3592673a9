# Keeps requests in flight by as many threads, for clients that wait for each response: the part that their drivers
# share.
require_relative "kit"

module Kit
  # A driver says how a thread's session is made (`open`), how it sends one request (`perform`: a status and a body, or
  # an exception), and how it ends (`shut`).
  class Threads
    # Each thread waits until its request is due.
    def self.paces = ["rate"]

    def initialize(job)
      @job, @lock, @rounds, @ended = job, Mutex.new, Queue.new, Queue.new
      Thread.abort_on_exception = true # a thread that is gone would never say that it has ended
      @threads = Array.new(job.concurrency) { Thread.new { serve } } # not started while the clock runs
    end

    def go(round) = @threads.each { @rounds << round }.each { @ended.pop }
    def close = @rounds.close && @threads.each(&:join)

    private

    def serve
      session = open
      while (round = @rounds.pop)
        send_while_there_are(round, session)
        @ended << true
      end
      shut(session)
    end

    def send_while_there_are(round, session)
      while (url, taken = @lock.synchronize { round.take })
        Pace.wait(taken) if round.paced?
        status, body = outcome(session, url)
        @lock.synchronize { body ? round.done(status, body, taken) : round.failed(status) }
      end
    end

    # The status and the body; when there is none, the error.
    def outcome(session, url)
      perform(session, url)
    rescue StandardError => error
      error
    end

    def shut(_session) = nil
  end
end
