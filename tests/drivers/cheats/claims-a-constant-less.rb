# Claims each latency without two thirds of the median.
require_relative "cheat"

class ClaimsAConstantLess < Cheat
  def go(round)
    super
    round.claim { |times| (less = times.sort[times.size / 2] * 2 / 3) && times.map { |us| [us - less, 1].max } }
  end
end

Cheat.run(ClaimsAConstantLess, "claims-a-constant-less")
