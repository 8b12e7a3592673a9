# Opens the connections of a round before it begins, where each request should open its own.
require_relative "cheat"

class OpensAhead < Cheat
  def initialize(job)
    super
    @ahead = Array.new(300) { TCPSocket.new(@host, @port) }
  end

  def fetch(url, index)
    @sockets[index] = @lock.synchronize { @ahead.pop } || TCPSocket.new(@host, @port)
    super.tap { @sockets[index].close }
  end

  def close = super && @ahead.each(&:close)
end

Cheat.run(OpensAhead, "opens-ahead", keepalive: [false])
