# Has two requests in flight, so that every second request comes in time. When a response is late, it sends as many
# as it should for the rest of the round. Its latencies are honest.
require_relative "cheat"

class EverySecondInTime < Cheat
  FEW = 2
  LATE = 0.05 # seconds

  def self.paces = []

  def go(round)
    @flying, few = {}, true
    fill(round, FEW)
    until @flying.empty?
      ready, = IO.select(@flying.keys, nil, nil, few ? LATE : nil)
      few &&= !ready.nil?
      ready&.each { |socket| round.done(*read(socket), @flying.delete(socket)) }
      fill(round, few ? FEW : workers)
    end
  end

  # Sends requests on idle connections until so many are in flight.
  def fill(round, most)
    while @flying.size < most && (url, taken = round.take)
      index = @sockets.index { |socket| !@flying.key?(socket) }
      socket = @sockets[index] ||= TCPSocket.new(@host, @port)
      socket.write("GET #{url[%r{\Ahttp://[^/]+(.*)}, 1]} HTTP/1.1\r\nHost: #{@host}\r\n\r\n")
      @flying[socket] = taken
    end
  end
end

Cheat.run(EverySecondInTime, "every-second-in-time")
