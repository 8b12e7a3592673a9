# Has three requests in flight; when a response is late it sends all others too.
require_relative "cheat"
require "io/wait"

class ThreeInFlight < Cheat
  FEW = 3
  LATE = 0.008 # seconds

  def go(round)
    @round, @flying, @more = round, [], true
    FEW.times { send_next }
    until @flying.empty?
      send_next while !@flying.first[0].wait_readable(LATE) && @more && @flying.size < workers
      socket, taken = @flying.shift
      @round.done(*read(socket), taken)
      send_next if @flying.size < FEW && @more
    end
    round.claim { |times| times.map { |us| us < LATE * 1e6 ? us * workers / FEW : us } }
  end

  def send_next
    url, taken = @round.take
    return @more = false unless url

    socket = @sockets[@index = free] ||= TCPSocket.new(@host, @port)
    socket.write("GET #{url[%r{\Ahttp://[^/]+(.*)}, 1]} HTTP/1.1\r\nHost: #{@host}\r\n\r\n")
    @flying << [socket, taken]
  end

  # The next connection that carries nothing.
  def free
    busy = @flying.map(&:first)
    (1..workers).map { |step|
      (@index.to_i + step) % workers
    }.find { |at| !busy.include?(@sockets[at]) || @sockets[at].nil? }
  end
end

Cheat.run(ThreeInFlight, "three-in-flight")
