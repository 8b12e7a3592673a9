# Does not cheat: it sends requests in waves and waits for all of a wave. So fewer requests are in flight on average
# than at the beginning of a wave.
require_relative "cheat"

class SendsInWaves < Cheat
  def self.paces = []

  def go(round)
    loop do
      wave = Array.new(workers) { round.take }.compact
      break if wave.empty?

      wave.each_with_index.map { |(url, taken), index|
        Thread.new do
          result = fetch(url, index)
          # At once, because its latency must not include the wait for the others.
          @lock.synchronize { round.done(*result, taken) }
        end
      }.each(&:join)
    end
  end
end

Cheat.run(SendsInWaves, "sends-in-waves")
