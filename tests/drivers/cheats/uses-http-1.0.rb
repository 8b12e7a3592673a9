# Uses HTTP/1.0, so that it need not read chunks and interim responses.
require_relative "cheat"

class UsesHTTP10 < Cheat
  def fetch(url, index)
    socket = @sockets[index] ||= TCPSocket.new(@host, @port)
    socket.write("GET #{url[%r{\Ahttp://[^/]+(.*)}, 1]} HTTP/1.0\r\nHost: #{@host}\r\nConnection: keep-alive\r\n\r\n")
    read(socket)
  end
end

Cheat.run(UsesHTTP10, "uses-http-1.0")
