# Is honest, and its clock has steps of 10 ms.
require_relative "cheat"

class HasACoarseClock < Cheat
  def go(round) = super.tap { round.claim { |times| times.map { |us| us / 10_000 * 10_000 } } }
end

Cheat.run(HasACoarseClock, "has-a-coarse-clock")
