# Answers with something that is not a reply.
require_relative "broken"

OUT = $stdout.dup # the kit keeps $stdout for itself

class Rubbish < Broken
  def break_down
    OUT.puts("it went really well")
    OUT.flush
  end
end

Cheat.run(Rubbish, "rubbish")
