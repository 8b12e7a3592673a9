# Never responds.
require_relative "broken"

class Hangs < Broken
  def break_down = sleep
end

Cheat.run(Hangs, "hangs")
