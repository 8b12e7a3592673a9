# Does not cheat: it takes an interim response for the last one, whose body goes on until the connection ends.
require_relative "cheat"

class ReadsHintsToTheEnd < Cheat
  def interim(socket, head) = [head[9, 3].to_i, socket.read]
end

Cheat.run(ReadsHintsToTheEnd, "reads-hints-to-the-end")
