# Does not cheat: it waits for all of a wave before it sends the next, so that fewer are in flight on average than at
# its begin.
require_relative "cheat"

class SendsInWaves < Cheat
  def go(round)
    loop do
      wave = Array.new(workers) { round.take }.compact
      break if wave.empty?

      wave.each_with_index.map { |(url, taken), index|
        Thread.new do
          answer = fetch(url, index)
          @lock.synchronize { round.done(*answer, taken) } # at once, or its latency would hold the wait for the others
        end
      }.each(&:join)
    end
  end
end

Cheat.run(SendsInWaves, "sends-in-waves")
