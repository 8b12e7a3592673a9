# Says that it can send at a rate, and sends as fast as it can.
require_relative "cheat"

class IgnoresTheRate < Cheat
  def go(round) = super && round.claim { |times| times.map { |us| [us, 100].max } }

  def work(round, index)
    round.define_singleton_method(:paced?) { false }
    super
  end
end

Cheat.run(IgnoresTheRate, "ignores-the-rate")
