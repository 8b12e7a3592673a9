# Claims keep-alive and opens a connection for every request.
require_relative "cheat"

class Reconnects < Cheat
  def fetch(url, index)
    super.tap { @sockets[index] = @sockets[index].close }
  end
end

Cheat.run(Reconnects, "reconnects")
