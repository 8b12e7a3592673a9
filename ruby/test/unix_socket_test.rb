# Requests over a Unix socket, as to a local daemon.
require "test_helper"
require "tmpdir"

class UnixSocketTest < ServerTest
  def test_every_request_goes_to_the_socket
    Dir.mktmpdir do |folder|
      path = File.join(folder, "real_server.sock")
      real_server = TestServer.new("--unix", path)
      client = client(unix_socket: path)
      responses = Array.new(2) { client.get("http://daemon.invalid/echo") }
      assert_equal [200, 200], responses.map(&:status)
      assert_includes responses.last.body, "daemon.invalid"
      assert_equal [1, 1], client.stats.values_at(:opened, :reused)
      assert_equal 2, real_server.stop["requests"]
    end
  end

  # The kernel holds some hundred KiB of a Unix socket at most, and of TCP some megabytes: so here it shows.
  READERS = {
    stream: ->(client, address, taken) { client.get(address) { |response| response.each_chunk(&taken) } },
    batch: ->(client, address, taken) { client.batch { |batch| batch.get(address).on_body(&taken) } }
  }.freeze

  READERS.each do |name, read|
    define_method("test_a_slow_reader_of_a_#{name}_holds_a_mebibyte_at_most") do
      flood do |path, sent|
        size = pieces = 0
        taken = lambda do |chunk|
          size += chunk.bytesize
          sleep 0.05 # As long as the server needs to fill whatever is there to fill.
          assert_operator sent[0] - size, :<=, 1 << 20
          raise StopIteration if (pieces += 1) == 10
        end
        assert_raises(StopIteration) { read.call(client(unix_socket: path), "http://any.example/", taken) }
      end
    end
  end

  # A server that writes without end; yields its path, and what it has sent so far.
  def flood
    Dir.mktmpdir do |folder|
      sent = [0]
      server = UNIXServer.new(File.join(folder, "socket"))
      thread = Thread.new do
        connection = server.accept
        connection.readpartial(4096)
        connection.write("HTTP/1.1 200 OK\r\n\r\n")
        loop { sent[0] += connection.write("x" * 8192) }
      rescue SystemCallError
        nil # The client is gone.
      end
      yield server.path, sent
    ensure
      thread&.kill&.join
      server&.close
    end
  end

  def test_a_socket_that_is_not_there_is_named
    error = error_of(Hecaton::ConnectError) { client(unix_socket: "/no/such.sock").get("http://daemon/") }
    assert_includes error.message, "/no/such.sock"
    assert_equal [:connect, false], [error.phase, error.sent?]
  end
end
