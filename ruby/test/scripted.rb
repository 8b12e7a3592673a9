# A server that responds to each path as a test says, and keeps the requests.
require "socket"

# For a server of a test: `serve(connection)` has a thread for each connection, until `stop`.
module Listening
  def stop
    @server.close
    @accepting.join
    @threads.each(&:kill).each(&:join)
  end

  private

  # Begins, and returns the URL.
  def listen
    @server = TCPServer.new("127.0.0.1", 0)
    @threads = []
    @accepting = Thread.new do
      loop { @threads << Thread.new(@server.accept) { |connection| serve(connection) } } rescue IOError
    end
    "http://127.0.0.1:#{@server.local_address.ip_port}"
  end
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
    while (head = connection.gets("\r\n\r\n"))
      request = head + connection.read(head[/^content-length: (\d+)/i, 1].to_i)
      @arrived << request
      response = @responses.fetch(head.split(" ", 3)[1]) { Scripted.response(404) }
      connection.write(response.is_a?(Proc) ? response.call(request) : response)
    end
  rescue SystemCallError, IOError
    nil # The client is gone.
  ensure
    connection.close
  end
end
