# Does not cheat: it waits for all of a wave before it sends the next, so that fewer are in flight on average than at
# its begin.
require_relative "cheat"

class SendsInWaves < Cheat
  def go(round)
    loop do
      wave = Array.new(workers) { round.take }.compact
      break if wave.empty?

      wave.each_with_index.map { |(url, taken), index| Thread.new { [fetch(url, index), taken] } }.each do |thread|
        answer, taken = thread.value
        round.done(*answer, taken)
      end
    end
  end
end

Cheat.run(SendsInWaves, "sends-in-waves")
