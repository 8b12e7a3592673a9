# Requests over a Unix socket, as to a local daemon.
require "test_helper"
require "tmpdir"

class UnixSocketTest < OriginTest
  def test_every_request_goes_to_the_socket
    Dir.mktmpdir do |folder|
      path = File.join(folder, "origin.sock")
      origin = Origin.new("--unix", path)
      client = client(unix_socket: path)
      responses = Array.new(2) { client.get("http://daemon.invalid/echo") }
      assert_equal [200, 200], responses.map(&:status)
      assert_includes responses.last.body, "daemon.invalid"
      assert_equal [1, 1], client.stats.values_at(:opened, :reused)
      assert_equal 2, origin.stop["requests"]
    end
  end

  def test_a_socket_that_is_not_there_is_named
    error = error_of(Hecaton::ConnectError) { client(unix_socket: "/no/such.sock").get("http://daemon/") }
    assert_includes error.message, "/no/such.sock"
    assert_equal [:connect, false], [error.phase, error.sent?]
  end
end
