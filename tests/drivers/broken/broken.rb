# A driver that is honest until it has been prepared three times, and then breaks in a way of its own.
require_relative "../cheats/cheat"

class Broken < Cheat
  def initialize(job)
    $prepared = $prepared.to_i + 1
    super
  end

  def go(round)
    break_down if $prepared == 3
    super
  end
end
