# Behaves in the probe; then sends the next request as soon as it sees the beginning of a response, before it reads
# that.
require_relative "cheat"

class SendsOnEarly < Cheat
  def go(round)
    @rounds = @rounds.to_i + 1
    super
  end

  def work(round, index)
    return super unless @rounds > 1

    socket = @sockets[index] ||= TCPSocket.new(@host, @port)
    url, taken = @lock.synchronize { round.take }
    request(socket, url) if url
    while url
      socket.wait_readable
      following, started = @lock.synchronize { round.take }
      request(socket, following) if following
      status, body = read(socket)
      @lock.synchronize { round.done(status, body, taken) }
      url, taken = following, started
    end
  end

  def request(socket, url) = socket.write("GET #{url[%r{\Ahttp://[^/]+(.*)}, 1]} HTTP/1.1\r\nHost: #{@host}\r\n\r\n")
end

require "io/wait"
Cheat.run(SendsOnEarly, "sends-on-early")
