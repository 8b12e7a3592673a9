# Opens a connection for each request, and closes none of them before the next round.
require_relative "cheat"

class ClosesLater < Cheat
  def initialize(job)
    super
    @open = []
  end

  def fetch(url, index)
    @sockets[index] = TCPSocket.new(@host, @port)
    @lock.synchronize { @open << @sockets[index] }
    super
  end

  def close = @open.each(&:close)
end

Cheat.run(ClosesLater, "closes-later", keepalive: [false])
