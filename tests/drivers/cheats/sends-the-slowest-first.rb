# Remembers how long the response at each position of a round took, and sends first what was slow before. Its log says
# how many of the slowest positions of a round were among the slowest of the round before.
require_relative "cheat"

class SendsTheSlowestFirst < Cheat
  SLOWEST = 12
  KNOWN = {} # seconds by position, of the last round of this process

  def go(round)
    urls = []
    urls << round.take.first while round.left?
    known, @seen = KNOWN.dup, {}
    order = urls.each_index.sort_by { |position| -KNOWN.fetch(position, 0) }
    @urls = order.map { |position| [urls[position], position] }
    super
    compare(known, @seen) if urls.length >= 6 * SLOWEST
    KNOWN.replace(@seen)
  end

  def work(round, index)
    while (url, position = @lock.synchronize { @urls.shift })
      taken = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      result = fetch(url, index)
      took = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - taken
      @lock.synchronize { round.done(*result, taken) && @seen[position] = took }
    end
  end

  def compare(known, seen)
    positions = known.keys & seen.keys
    return if positions.length < 6 * SLOWEST

    slowest = ->(times) { positions.max_by(SLOWEST) { |position| times[position] } }
    warn "#{(slowest.(known) & slowest.(seen)).length} of #{SLOWEST} were slow again"
  end
end

class Kit::Round
  def left? = @next < @end
end

Cheat.run(SendsTheSlowestFirst, "sends-the-slowest-first")
