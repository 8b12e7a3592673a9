# Fails every request with words that would write on the reader's terminal.
require_relative "cheat"

class WritesToTerminals < Cheat
  def go(round)
    while round.take
      round.failed("\e[2J\e]0;verified\aall went well")
    end
  end
end

Cheat.run(WritesToTerminals, "writes-to-terminals")
