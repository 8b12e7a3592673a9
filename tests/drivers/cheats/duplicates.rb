# Sends one request twice, as a client does that repeats what it thinks has failed.
require_relative "cheat"

class Duplicates < Cheat
  def fetch(url, index)
    @sent = (@sent || 0) + 1
    super if @sent == 3
    super
  end
end

Cheat.run(Duplicates, "duplicates")
