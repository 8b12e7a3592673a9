# Responses and headers are plain Ruby.
require "test_helper"

class ResponseTest < OriginTest
  def test_marshalled_and_compared
    response = client.get(url("/echo"))
    copy = Marshal.load(Marshal.dump(response))
    assert_equal response, copy
    assert_equal response.attempts, copy.attempts
    assert_equal response.elapsed, copy.elapsed
  end

  def test_header_values_that_are_not_utf8
    server = TCPServer.new("127.0.0.1", 0)
    thread = Thread.new do
      connection = server.accept
      connection.readpartial(4096)
      connection.write("HTTP/1.1 200 OK\r\nX-A: caf\xE9\r\nX-B: é\r\nContent-Length: 0\r\n\r\n")
    ensure
      connection&.close
    end
    headers = client.get("http://127.0.0.1:#{server.addr[1]}/").headers
    assert_equal ["caf\xE9", "é", "0"], headers.map(&:last)
    assert_equal "caf\xE9", headers["x-a"]
  ensure
    thread&.join
    server&.close
  end

  def test_made_by_hand
    response = Hecaton::Response.new(status: 201, headers: { "ETag" => "x" }, body: "hello")
    assert_equal [201, "x", "hello", true], [response.status, response.headers["etag"], response.body, response.success?]
    assert_equal response, Hecaton::Response.new(status: 201, headers: { "etag" => "x" }, body: "hello")
    refute_equal response, Hecaton::Response.new(status: 200, headers: { "etag" => "x" }, body: "hello")
    assert_nil response.timings.connect
  end

  def test_headers
    headers = Hecaton::Headers.new([["Set-Cookie", "a=1"], ["set-cookie", "b=2"], ["X", "1"]])
    assert_equal "a=1, b=2", headers["SET-COOKIE"]
    assert_equal %w[a=1 b=2], headers.get_all("set-cookie")
    assert_nil headers["y"]
    assert headers.key?("x")
    assert_equal({ "set-cookie" => "a=1, b=2", "x" => "1" }, headers.to_h)
    assert_equal 3, headers.size
  end
end
