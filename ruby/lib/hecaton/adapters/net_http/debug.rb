# Writes traffic in both directions to the output of set_debug_output.

class Hecaton::NetHTTP
  # In the form of Net::HTTP's lines: "<- " for what is sent, "-> " for what came. It shows credentials, as
  # Net::HTTP's does.
  module Debug
    module_function

    # The request. output is an object with <<.
    def sent(output, outgoing, authority)
      lines = ["#{outgoing.verb} #{outgoing.url[%r{\Ahttps?://[^/]*(.*)}m, 1]} HTTP/1.1"]
      lines << "Host: #{authority}" unless outgoing.headers.key?("Host")
      lines.concat(outgoing.headers.map { |name, value| "#{name}: #{value}" })
      output << "<- #{"#{lines.join("\r\n")}\r\n\r\n".dump}\n"
      output << "<- #{outgoing.body.dump}\n" if outgoing.body.is_a?(String) && !outgoing.body.empty?
    end

    # The head of the response.
    def received(output, response)
      output << "-> #{"HTTP/#{response.http_version} #{response.code} #{response.message}\r\n".dump}\n"
      response.each_header { |name, value| output << "-> #{"#{name}: #{value}\r\n".dump}\n" }
    end

    # Its body, if it is a String.
    def body(output, text) = (output << "read #{text.bytesize} bytes\n-> #{text.dump}\n" if text.is_a?(String))

    # The error that came instead.
    def failed(output, error) = output << "Conn close because of error #{error}\n"
  end
end
