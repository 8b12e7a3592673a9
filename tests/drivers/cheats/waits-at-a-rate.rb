# Says that it can send at a rate, and sends no request before the response to the last.
require_relative "cheat"

class WaitsAtARate < Cheat
  TURN = Mutex.new
  private_constant :TURN

  def go(round)
    @paced = round.paced?
    super
  end

  def fetch(url, index) = @paced ? TURN.synchronize { super } : super
end

Cheat.run(WaitsAtARate, "waits-at-a-rate")
