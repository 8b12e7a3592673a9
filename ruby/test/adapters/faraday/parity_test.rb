# The same tests for Hecaton's adapter and for Faraday's own: each does what Faraday demands of every adapter.
require_relative "faraday_helper"
require_relative "shared_behaviour"
require "malformed"
require "scripted"

class HecatonBehaviourTest < FaradayTest
  include SharedBehaviour
  def adapter = [:hecaton]

  # Faraday 2's adapter for Net::HTTP keeps these headers, although they do not fit the decoded body.
  def test_headers_about_a_decoded_coding_are_removed
    responding(200, { "Content-Encoding" => "gzip" }, Zlib.gzip("plain"))
    assert_equal [nil, nil], conn.get("/").headers.values_at("content-encoding", "content-length")
  end

  def test_a_body_has_the_encoding_of_its_charset
    responding(200, { "Content-Type" => "text/plain; charset=iso-8859-1" }, "\xE4")
    body = conn.get("/").body
    assert_equal [Encoding::ISO_8859_1, "ä"], [body.encoding, body.encode("UTF-8")]
  end

  def test_malformed_responses_that_net_http_reads
    Malformed::READ.each do |what, reply|
      Scripted.run("/" => reply.b) do |server|
        assert_equal [200, "ok"], conn(server.url).get("/").then { |response| [response.status, response.body] }, what
      end
    end
  end

  def test_the_address_of_this_side
    address = nil
    play = lambda do |connection|
      connection.gets("\r\n\r\n")
      address = connection.remote_address.ip_address
      connection.write(Scripted.response(200))
    end
    Peer.run(play) { |peer| conn(peer.url, request: { bind: { host: "127.0.0.2" } }).get("/") }
    assert_equal "127.0.0.2", address
  end

  # Net::HTTP leaves them out, too.
  def test_bytes_behind_a_coding
    responding(200, { "Content-Encoding" => "gzip" }, Zlib.gzip("plain") + Zlib.gzip(" text") + "\0\0\0rest")
    assert_equal "plain text", conn.get("/").body
  end

  # Which Net::HTTP joins, too.
  def test_repeated_fields_of_several_encodings
    responding(200, { "X-A" => ["caf\xE9".b, "é".b] })
    assert_equal "caf\xE9, é".b, conn.get("/").headers["x-a"].b
  end

  def test_a_login_of_the_url_is_sent
    responding(200)
    conn("http://127.0.0.1").get("http://us%40er:secret@127.0.0.1:#{@server.port}/")
    assert_equal "Basic #{["us@er:secret"].pack("m0")}", @server.arrived.first.headers["authorization"]
  end

  def test_an_empty_proxy_is_no_proxy
    responding(200)
    assert_equal 200, conn(@server.url, proxy: "").get("/").status if FaradayTest::TWO
  end

  def test_headers_and_bodies_may_be_changed
    responding(200, { "X-A" => "b" }, "body")
    response = conn.get("/")
    assert_equal %w[bc body!], [response.headers["x-a"] << "c", response.body << "!"]
  end

  # Net::HTTP of Ruby 3.1 takes such a body for a whole one.
  def test_a_body_that_ends_early_is_a_failed_connection
    responding { "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc" }
    assert_instance_of Hecaton::BodyError, assert_raises(Faraday::ConnectionFailed) { conn.get("/") }.cause
  end
end

class NetHttpBehaviourTest < FaradayTest
  include SharedBehaviour
  def adapter = [:net_http]
end
