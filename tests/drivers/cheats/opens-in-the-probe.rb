# Opens connections at the end of the probe for the requests of the round, where each should open its own.
require_relative "cheat"

class OpensInTheProbe < Cheat
  def go(round)
    super
    (@ahead ||= []).concat(Array.new(workers) { TCPSocket.new(@host, @port) })
  end

  def fetch(url, index)
    @sockets[index] = @lock.synchronize { @ahead&.pop } || TCPSocket.new(@host, @port)
    super.tap { @sockets[index].close }
  end

  def close = super && @ahead&.each(&:close)
end

Cheat.run(OpensInTheProbe, "opens-in-the-probe", keepalive: [false])
