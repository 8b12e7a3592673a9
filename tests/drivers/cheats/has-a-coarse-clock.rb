# Is honest, and its clock has steps of a millisecond.
require_relative "cheat"

class HasACoarseClock < Cheat
  def go(round) = super.tap { round.claim { |times| times.map { |us| us / 1000 * 1000 } } }
end

Cheat.run(HasACoarseClock, "has-a-coarse-clock")
