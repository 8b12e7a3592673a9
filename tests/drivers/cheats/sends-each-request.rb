# Does not cheat: it sends each request with its id. With `first` it gives all the id of the first. With `heads` it
# sends a HEAD for each, which has no body.
require_relative "cheat"

class SendsEachRequest < Cheat
  ONLY = ARGV.first

  def fetch(url, index)
    socket = @sockets[index] ||= TCPSocket.new(@host, @port)
    body = @job.content
    lines = headers.map { |name, value| "#{name}: #{value}\r\n" }.join
    lines += "Content-Length: #{body.bytesize}\r\n" if body
    method, path = ONLY == "heads" ? "HEAD" : @job.method, url[%r{\Ahttp://[^/]+(.*)}, 1]
    socket.write("#{method} #{path} HTTP/1.1\r\nHost: #{@host}:#{@port}\r\n#{lines}\r\n#{body}")
    read_in_time(socket)
  end

  def headers
    return @job.headers unless ONLY == "first" && @job.id_field

    @job.headers.merge(@job.id_field => "hecaton-5000000000")
  end
end

names = { "heads" => "sends-heads", "first" => "repeats-an-id" }
name = names.fetch(SendsEachRequest::ONLY, "sends-each-request")
Cheat.run(SendsEachRequest, name, sends: %w[fields body], knows: Kit::EACH_REQUEST)
