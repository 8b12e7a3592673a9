# Remembers how long the response at each place of a round took, and sends what was slow before first. Its log says how
# many of the slowest places of a round were among the slowest of the one before.
require_relative "cheat"

class AsksTheSlowestFirst < Cheat
  SLOWEST = 12
  KNOWN = {} # seconds by place, of the last round of this process

  def go(round)
    urls = []
    urls << round.take.first while round.left?
    known, @seen = KNOWN.dup, {}
    @urls = urls.each_index.sort_by { |place| -KNOWN.fetch(place, 0) }.map { |place| [urls[place], place] }
    super
    compare(known, @seen) if urls.length >= 6 * SLOWEST
    KNOWN.replace(@seen)
  end

  def work(round, index)
    while (url, place = @lock.synchronize { @urls.shift })
      taken = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      answer = fetch(url, index)
      took = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - taken
      @lock.synchronize { round.done(*answer, taken) && @seen[place] = took }
    end
  end

  def compare(known, seen)
    places = known.keys & seen.keys
    return if places.length < 6 * SLOWEST

    slowest = ->(times) { places.max_by(SLOWEST) { |place| times[place] } }
    warn "#{(slowest.(known) & slowest.(seen)).length} of #{SLOWEST} were slow again"
  end
end

class Kit::Round
  def left? = @next < @end
end

Cheat.run(AsksTheSlowestFirst, "asks-the-slowest-first")
