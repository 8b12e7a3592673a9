# Does not cheat: it retires each connection after a hundred requests.
require_relative "cheat"

class RetiresConnections < Cheat
  def fetch(url, index)
    @uses ||= Hash.new(0)
    @sockets[index] = @sockets[index]&.close if (@uses[index] += 1) % 100 == 0
    super
  end
end

Cheat.run(RetiresConnections, "retires-connections")
