# Does not cheat: it opens a connection for each request, and closes it.
require_relative "cheat"

class ClosesEach < Cheat
  def fetch(url, index) = super.tap { @sockets[index] = @sockets[index].close }
end

Cheat.run(ClosesEach, "closes-each", keepalive: [false])
