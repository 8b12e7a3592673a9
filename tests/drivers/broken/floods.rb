# Responds as the protocol demands, and fills its error output without end.
require_relative "broken"

class Floods < Broken
  def break_down = 200.times { $stderr.write("x" * 99_999, "\n") }
end

Cheat.run(Floods, "floods")
