# Behaves in the probe; then sends many requests behind each other on few connections.
require_relative "cheat"

class Pipelines < Cheat
  DEPTH = 16

  def go(round)
    return super unless (@rounds = @rounds.to_i + 1) > 1

    Array.new((workers / 2.0).ceil) { |index| Thread.new { stream(round, index) } }.each(&:join)
    round.claim { |times| times.map { |us| us / (DEPTH / 2) } }
  end

  def stream(round, index)
    socket = @sockets[index] ||= TCPSocket.new(@host, @port)
    until (wave = @lock.synchronize { Array.new(DEPTH) { round.take }.compact }).empty?
      targets = wave.map { |url, _| url[%r{\Ahttp://[^/]+(.*)}, 1] }
      socket.write(targets.map { |target| "GET #{target} HTTP/1.1\r\nHost: #{@host}\r\n\r\n" }.join)
      wave.each do |_, taken|
        status, body = read(socket)
        @lock.synchronize { round.done(status, body, taken) }
      end
    end
  end
end

Cheat.run(Pipelines, "pipelines")
