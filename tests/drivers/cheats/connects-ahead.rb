# Opens connections for later requests within the round, where each request should open its own.
require_relative "cheat"

class ConnectsAhead < Cheat
  def go(round)
    @ahead = Queue.new
    opener = Thread.new { loop { @ahead.size < 4 * workers ? @ahead << TCPSocket.new(@host, @port) : sleep(0.001) } }
    super
    opener.kill.join
    @ahead.pop.close until @ahead.empty?
  end

  def fetch(url, index)
    @sockets[index] = @ahead.pop
    super.tap { @sockets[index].close }
  end

  def close = nil
end

Cheat.run(ConnectsAhead, "connects-ahead", keepalive: [false])
