# A server on a free port that responds to each request with a block's value, and keeps the requests.
require "openssl"
require "socket"

# The block is given a Request and returns [status, headers, body] or [status, headers, body, reason]. :hang sends
# nothing. A String is written as it stands, and the connection is closed after it.
class Server
  Request = Struct.new(:verb, :target, :headers, :body, :connection) do
    def path = target[/\A[^?]*/]
    def query = target[/\?(.*)/, 1]
  end

  attr_reader :port, :requests

  def initialize(context = nil, &handler)
    @handler = handler
    @context = context
    @requests = Queue.new
    @connections = 0
    @lock = Mutex.new
    @open = []
    @listener = TCPServer.new("127.0.0.1", 0)
    @port = @listener.local_address.ip_port
    @accepting = Thread.new { loop { take(@listener.accept) } rescue IOError }
  end

  def url(path = "/", host: "127.0.0.1") = "#{@context ? "https" : "http"}://#{host}:#{port}#{path}"

  # Connections so far.
  def connections = @lock.synchronize { @connections }

  # The requests that have arrived, in order; empties the list.
  def arrived = Array.new(@requests.size) { @requests.pop }

  def stop
    @listener.close
    @accepting.join
    @lock.synchronize { @open.each { |socket| socket.close unless socket.closed? } }
  end

  private

  def take(socket)
    number = @lock.synchronize { @open << socket; @connections += 1 }
    Thread.new { serve(socket, number) }.report_on_exception = false
  end

  def serve(socket, number)
    if @context
      socket = OpenSSL::SSL::SSLSocket.new(socket, @context).accept
    end
    while (head = socket.gets("\r\n\r\n"))
      request = read(head, socket, number)
      @requests << request
      response = @handler.call(request)
      sleep if response == :hang
      socket.write(response.is_a?(String) ? response : reported(request, *response))
      break if response.is_a?(String)
    end
  rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
    nil # The client is gone.
  ensure
    socket.close
  end

  def read(head, socket, number)
    line, *fields = head.split("\r\n")
    verb, target, = line.split
    headers = fields.to_h { |field| field.split(": ", 2).then { |name, value| [name.downcase, value] } }
    Request.new(verb, target, headers, body(headers, socket), number)
  end

  def body(headers, socket)
    return socket.read(headers["content-length"].to_i) unless headers["transfer-encoding"] == "chunked"

    body = +""
    while (size = socket.gets.to_i(16)).positive?
      body << socket.read(size)
      socket.gets
    end
    socket.gets
    body
  end

  def reported(request, status, headers = {}, body = "", reason = "X")
    headers = { "Content-Length" => body.bytesize }.merge(headers) unless [204, 304].include?(status)
    lines = headers.flat_map { |name, values| Array(values).map { |value| "#{name}: #{value}\r\n" } }
    "HTTP/1.1 #{status} #{reason}\r\n#{lines.join}\r\n#{body unless request.verb == "HEAD"}"
  end
end
