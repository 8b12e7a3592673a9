# Responds with a line that has no end.
require_relative "broken"

OUT = $stdout.dup # the kit keeps $stdout for itself

class Endless < Broken
  def break_down = loop { OUT.write("x" * 65_536) }
end

Cheat.run(Endless, "endless")
