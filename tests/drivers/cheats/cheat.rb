# A client on plain sockets that subclasses turn into cheats; it is honest where they change nothing.
require "io/wait"
require "socket"
require_relative "../../../drivers/ruby/kit"

class Cheat
  def initialize(job)
    @job = job
    @host, @port, @path = job.url.match(%r{\Ahttp://([^:/]+):(\d+)(/.*)\z}).captures
    @sockets = Array.new(workers) { nil }
    @lock = Mutex.new
  end

  # Each of its threads waits until its request is due.
  def self.paces = ["rate"]

  # Threads, and so connections and requests in flight.
  def workers = @job.concurrency

  def go(round)
    Array.new(workers) { |index| Thread.new { work(round, index) } }.each(&:join)
  end

  def close = @sockets.each { |socket| socket&.close }

  # Requests one URL: [status, body].
  def fetch(url, index)
    socket = @sockets[index] ||= TCPSocket.new(@host, @port)
    headers = @job.headers.map { |name, value| "#{name}: #{value}\r\n" }.join
    headers += "Accept-Encoding: gzip\r\n" if @job.gzip?
    socket.write("GET #{url[%r{\Ahttp://[^/]+(.*)}, 1]} HTTP/1.1\r\nHost: #{@host}:#{@port}\r\n#{headers}\r\n")
    read_in_time(socket)
  end

  # Reads one response that has to begin within the time limit: [status, body].
  def read_in_time(socket)
    socket.wait_readable(limit) or raise IOError, "time limit"
    read(socket)
  end

  def limit = @job.timeout

  # Reads one response: [status, body].
  def read(socket)
    head = socket.gets("\r\n\r\n")
    return interim(socket, head) if head[9] == "1"
    return [head[9, 3].to_i, chunks(socket)] if head.match?(/^transfer-encoding: *chunked/i)

    [head[9, 3].to_i, body(socket, head[/^content-length: *(\d+)/i, 1].to_i)]
  end

  # Called with the head of an interim response.
  def interim(socket, _head) = read(socket)

  def chunks(socket)
    body = +""
    until (length = socket.gets("\r\n").hex).zero?
      body << socket.read(length + 2).byteslice(0, length)
    end
    body.tap { socket.gets("\r\n") }
  end

  def body(socket, length) = socket.read(length)

  def work(round, index)
    while (url, taken = @lock.synchronize { round.take })
      result = begin
        Kit::Pace.wait(taken) if round.paced?
        fetch(url, index)
      rescue SystemCallError, IOError, NoMethodError => error
        @sockets[index] = nil
        error.class.name
      end
      @lock.synchronize { result.is_a?(String) ? round.failed(result) : round.done(*result, taken) }
    end
  end

  def self.run(cheat, name, **about)
    Kit.run(cheat, name: name, version: "1", engine: "sockets", models: ["threads"], verify: %w[tail json none],
      max_concurrency: 100, **about)
  end
end

# The latencies that a cheat claims instead of the measured ones: the block gets them one by one.
class Kit::Round
  def claim = @latencies = yield(@latencies.flat_map { |us, count| [us] * count }).tally
end
