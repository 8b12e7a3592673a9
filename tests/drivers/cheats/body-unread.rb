# Reads the head of a response and not its body; a new connection spares it the rest.
require_relative "cheat"

class BodyUnread < Cheat
  def fetch(url, index)
    super.tap { @sockets[index] = @sockets[index].close }
  end

  def body(_socket, length) = "0" * length
end

Cheat.run(BodyUnread, "body-unread")
