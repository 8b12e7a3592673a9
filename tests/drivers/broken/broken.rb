# A driver that is honest until it has been prepared three times, and then breaks in a way of its own. The very first
# request of a process is a round of one, and its `prepare` does not count.
require_relative "../cheats/cheat"

class Broken < Cheat
  def initialize(job)
    $prepared = $prepared.to_i + 1
    super
  end

  def go(round)
    break_down if $prepared == 3
    $prepared = 0 if $prepared == 1 && alone?(round)
    super
  end

  private def alone?(round) = round.instance_variable_get(:@next) + 1 == round.instance_variable_get(:@end)
end
