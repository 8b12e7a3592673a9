# Servers that do as a test says: with each connection (Peer), or by the path of a request (Scripted).
require "socket"

# For a server of a test: `serve(connection)` has a thread for each connection, until `stop`.
module Listening
  # The next request of a connection, with its body; nil at its end.
  def self.request(connection)
    return unless (request = connection.gets("\r\n\r\n"))
    return request << connection.read(request[/^content-length: (\d+)/i, 1].to_i) unless request[/^transfer-encoding:/i]

    loop do
      request << (size = connection.gets)
      request << connection.read(size.to_i(16) + 2)
      return request if size.to_i(16).zero?
    end
  end

  def stop
    @server.close
    @accepting.join
    @threads.each(&:kill).each(&:join)
  end

  private

  # Begins, and returns the URL.
  def listen(server = TCPServer.new("127.0.0.1", 0))
    @server = server
    @threads = []
    @accepting = Thread.new do
      loop { @threads << Thread.new(@server.accept) { |connection| accepted(connection) } } rescue IOError
    end
    "http://#{server.local_address.inspect_sockaddr}"
  end

  def accepted(connection)
    serve(connection)
  rescue SystemCallError, IOError
    nil # The client is gone.
  ensure
    connection.close
  end
end

# Plays each connection, and closes it at the end: `play` is a Proc of the connection. A connection without `play` is
# neither read nor written to.
class Peer
  include Listening

  # Yields the server; `on` is where it listens, if not at a free port of 127.0.0.1.
  def self.run(play = ->(_) { sleep }, on: TCPServer.new("127.0.0.1", 0))
    peer = new(play, on)
    yield peer
  ensure
    peer&.stop
  end

  def initialize(play, server)
    @play = play
    @base = listen(server)
  end

  def url(path = "/") = "#{@base}#{path}"
  def port = @server.local_address.ip_port
  def connections = @threads.size

  private

  def serve(connection) = @play.call(connection)
end

# responses: {"/path?query" => whole response, as made by Scripted.response, or a Proc that makes it of the request}.
# Other requests get a 404. Connections stay open.
class Scripted
  include Listening

  attr_reader :url, :arrived

  def self.response(status, headers = {}, body = "")
    fields = headers.flat_map { |name, values| Array(values).map { |value| "#{name}: #{value}\r\n" } }.join
    "HTTP/1.1 #{status} X\r\n#{fields}Content-Length: #{body.bytesize}\r\n\r\n#{body}"
  end

  def self.run(responses = {})
    server = new(responses)
    yield server
  ensure
    server&.stop
  end

  def initialize(responses)
    @responses = responses
    @arrived = Queue.new
    @url = listen
  end

  # Heads and bodies as they came, in order; empties the list.
  def requests = Array.new(@arrived.size) { @arrived.pop }

  # Request lines without version.
  def requested = requests.map { |request| request[/\A(.*) HTTP/, 1] }

  private

  def serve(connection)
    while (request = Listening.request(connection))
      @arrived << request
      response = @responses.fetch(request.split(" ", 3)[1]) { Scripted.response(404) }
      connection.write(response.is_a?(Proc) ? response.call(request) : response)
    end
  end
end
