# Sends at a rate, and times each request from when it sends it: coordinated omission.
require_relative "cheat"

class OmitsItsDelay < Cheat
  def work(round, index)
    while (url, due = @lock.synchronize { round.take })
      Kit::Pace.wait(due) if round.paced?
      sent = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      status, body = fetch(url, index)
      @lock.synchronize { round.done(status, body, round.paced? ? sent : due) }
    end
  end
end

Cheat.run(OmitsItsDelay, "omits-its-delay")
