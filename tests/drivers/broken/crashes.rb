# Ends in the middle of a round, with words on its error output.
require_relative "broken"

class Crashes < Broken
  def break_down
    warn "out of luck"
    exit!(3)
  end
end

Cheat.run(Crashes, "crashes")
