# Claims that no request at a rate took longer than half of them did.
require_relative "cheat"

class TrimsItsTail < Cheat
  def go(round)
    super
    return unless round.paced?

    round.claim { |times| times.sort.then { |sorted| sorted.map { |us| [us, sorted[sorted.size / 2]].min } } }
  end
end

Cheat.run(TrimsItsTail, "trims-its-tail")
