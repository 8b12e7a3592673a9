# Claims latencies as fractions of a microsecond, as a clock in floating point gives them.
require_relative "cheat"

class ClaimsFractions < Cheat
  def go(round) = super.tap { round.claim { |times| times.map { |us| us + 0.5 } } }
end

Cheat.run(ClaimsFractions, "claims-fractions")
