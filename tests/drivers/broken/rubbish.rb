# Responds to a command with a line that the protocol does not allow.
require_relative "broken"

OUT = $stdout.dup # the kit keeps $stdout for itself

class Rubbish < Broken
  def break_down
    OUT.puts("it went really well")
    OUT.flush
  end
end

Cheat.run(Rubbish, "rubbish")
