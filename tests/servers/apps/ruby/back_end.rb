# A back end for proxies that sends interim responses and trailers. Prints its port.
#
# /hints: 103, then 200; the connection is closed after it.
# /trailers/<n>: two chunks of n bytes. The second comes a while later and has a trailer after it.
# /plain/<n>: two chunks without a trailer.
# /counts: the number of requests for each path, as JSON.
# Any other path: an echo.
require "json"
require "socket"

BETWEEN = 0.002
COUNTS = Hash.new(0)
LOCK = Mutex.new

def whole(body) = "HTTP/1.1 200 OK\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}"

def chunks(socket, size, trailer)
  chunk = "#{size.to_s(16)}\r\n#{"t" * size}\r\n"
  socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n#{chunk}")
  sleep BETWEEN # so that a proxy has sent the head when the trailer comes
  socket.write("#{chunk}0\r\n#{trailer}\r\n")
end

# Whether the connection stays open.
def respond(socket, path)
  case path
  when %r{\A/hints}
    socket.write("HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n#{whole("hello")}")
    return false
  when %r{\A/trailers/(\d+)} then chunks(socket, $1.to_i, "X-Check: ok\r\n")
  when %r{\A/plain/(\d+)} then chunks(socket, $1.to_i, "")
  when "/counts" then socket.write(whole(LOCK.synchronize { JSON.generate(COUNTS) }))
  else socket.write(whole(JSON.generate(method: "GET", path: path)))
  end
  true
end

def serve(socket)
  socket.setsockopt(:TCP, :NODELAY, 1)
  while (line = socket.gets)
    path = line.split[1]
    LOCK.synchronize { COUNTS[path[/\A[^?]*/]] += 1 }
    fields = []
    fields << line until (line = socket.gets) == "\r\n" || line.nil?
    break unless respond(socket, path) && fields.grep(/\Aconnection: *close/i).empty?
  end
rescue SystemCallError
  nil # the proxy went away
ensure
  socket.close
end

server = TCPServer.new("127.0.0.1", 0)
server.listen(500)
puts server.local_address.ip_port
$stdout.flush
loop { Thread.new(server.accept) { |socket| serve(socket) } }
