# Has one request in flight, on one connection after the other; when its response is late, it sends all others too.
require_relative "cheat"
require "io/wait"

class WaitsForACheck < Cheat
  LATE = 0.008 # seconds

  def go(round)
    @round, @flying, @more = round, [], true
    send_next
    until @flying.empty?
      send_next while !@flying.first[0].wait_readable(LATE) && @more && @flying.size < workers
      socket, taken = @flying.shift
      @round.done(*read(socket), taken)
      send_next if @flying.empty? && @more
    end
    round.claim { |times| times.map { |us| us < LATE * 1e6 ? us * (workers - 1) : us } }
  end

  def send_next
    url, taken = @round.take
    return @more = false unless url

    index = @index = (@index.to_i + 1) % workers
    socket = @sockets[index] ||= TCPSocket.new(@host, @port)
    socket.write("GET #{url[%r{\Ahttp://[^/]+(.*)}, 1]} HTTP/1.1\r\nHost: #{@host}\r\n\r\n")
    @flying << [socket, taken]
  end
end

Cheat.run(WaitsForACheck, "waits-for-a-check")
