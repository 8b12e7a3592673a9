# Reads as many bytes as the first response had, and takes them for a response that differs only in its check value.
require_relative "cheat"

class ParsesNoHTTP < Cheat
  def read(socket)
    return super if @job.verify == "json"
    return [200, socket.read(@whole).byteslice(-@body..)] if @whole

    head = socket.gets("\r\n\r\n")
    length = head[/^content-length: *(\d+)/i, 1].to_i
    body = socket.read(length)
    @lock.synchronize { @body, @whole = length, head.bytesize + length }
    [200, body]
  end
end

Cheat.run(ParsesNoHTTP, "parses-no-http")
