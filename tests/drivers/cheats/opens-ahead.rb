# Opens the connections of a round before it begins, where each request should open its own. If one of them is closed by
# then, it opens another.
require_relative "cheat"

class OpensAhead < Cheat
  def initialize(job)
    super
    @ahead = Array.new(300) { TCPSocket.new(@host, @port) }
  end

  def fetch(url, index)
    ahead = @lock.synchronize { @ahead.pop }
    @sockets[index] = ahead || TCPSocket.new(@host, @port)
    super.tap { @sockets[index].close }
  rescue SystemCallError, NoMethodError
    ahead ? retry : raise
  end

  def close = super && @ahead.each(&:close)
end

Cheat.run(OpensAhead, "opens-ahead", keepalive: [false])
