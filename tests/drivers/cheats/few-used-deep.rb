# Shows all its connections in the probe; then one thread in eight does all the work, and every response comes at once.
require_relative "cheat"

class FewUsedDeep < Cheat
  def go(round)
    return super unless (@rounds = @rounds.to_i + 1) > 1

    @sent = 0
    Array.new((workers / 8.0).ceil) { |index| Thread.new { work(round, index) } }.each(&:join)
    round.claim { |times| times.map { |us| us * 8 } }
  end

  # Each of the others carries a little, so that all are used.
  def fetch(url, index) = super(url, @rounds.to_i > 1 && (@sent += 1) % 20 == 0 ? (@sent / 20) % workers : index)
end

Cheat.run(FewUsedDeep, "few-used-deep")
