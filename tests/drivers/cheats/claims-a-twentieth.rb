# Claims a twentieth of each latency that it measured.
require_relative "cheat"

class ClaimsATwentieth < Cheat
  def go(round) = super && round.claim { |times| times.map { |us| us / 20 } }
end

Cheat.run(ClaimsATwentieth, "claims-a-twentieth")
