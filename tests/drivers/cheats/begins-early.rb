# Sends the beginning of the next request together with each.
require_relative "cheat"

class BeginsEarly < Cheat
  def fetch(url, index)
    socket, sent = @sockets[index], "GET /".bytesize
    socket, sent = @sockets[index] = TCPSocket.new(@host, @port), 0 unless socket
    request = "GET #{url[%r{\Ahttp://[^/]+(.*)}, 1]} HTTP/1.1\r\nHost: #{@host}\r\n\r\n"
    socket.write(request.byteslice(sent..) + "GET /")
    read(socket)
  end
end

Cheat.run(BeginsEarly, "begins-early")
