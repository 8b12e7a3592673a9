# Opens connections at the end of the probe for the requests of the round, where each should open its own. If one of
# them is closed by then, it opens another.
require_relative "cheat"

class OpensInTheProbe < Cheat
  def go(round)
    super
    (@ahead ||= []).concat(Array.new(workers) { TCPSocket.new(@host, @port) })
  end

  def fetch(url, index)
    ahead = @lock.synchronize { @ahead&.pop }
    @sockets[index] = ahead || TCPSocket.new(@host, @port)
    super.tap { @sockets[index].close }
  rescue SystemCallError, NoMethodError
    ahead ? retry : raise
  end

  def close = super && @ahead&.each(&:close)
end

Cheat.run(OpensInTheProbe, "opens-in-the-probe", keepalive: [false])
