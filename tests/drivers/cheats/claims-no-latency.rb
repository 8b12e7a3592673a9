# Claims that nearly every response took a microsecond, and one so long that the sum fits.
require_relative "cheat"

class ClaimsNoLatency < Cheat
  def go(round) = super.tap { round.claim { |times| [times.sum, *Array.new(times.size - 1, 1)] } }
end

Cheat.run(ClaimsNoLatency, "claims-no-latency")
