# The adapter does what Faraday demands of every adapter, and so does Faraday's own, by the same tests.
require_relative "faraday_helper"
require_relative "shared_behaviour"

class HecatonBehaviourTest < FaradayTest
  include SharedBehaviour
  def adapter = [:hecaton]

  # Net::HTTP's adapter for Faraday 2 leaves them, beside a body that has other bytes.
  def test_what_told_of_a_coding_goes_with_it
    answering(200, { "Content-Encoding" => "gzip" }, Zlib.gzip("plain"))
    assert_equal [nil, nil], conn.get("/").headers.values_at("content-encoding", "content-length")
  end

  # Net::HTTP of Ruby 3.1 takes it for the whole.
  def test_a_body_that_ends_early_is_a_failed_connection
    answering { "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc" }
    assert_instance_of Hecaton::BodyError, assert_raises(Faraday::ConnectionFailed) { conn.get("/") }.cause
  end
end

class NetHttpBehaviourTest < FaradayTest
  include SharedBehaviour
  def adapter = [:net_http]
end
