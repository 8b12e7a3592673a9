# Trailers: fields behind a body, apart from the headers.
require "test_helper"
require "scripted"

class TrailersTest < ServerTest
  CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n".freeze

  # By HTTP/1.1 and by HTTP/2.
  def both
    yield client, url("")
    own = TestServer.new("--http2")
    yield client(http: "2"), own.url
  ensure
    own&.stop
  end

  def test_whole_responses_have_them
    both do |client, url|
      response = client.get("#{url}/chunked/3")
      assert_equal [["x-chunks", "3"]], response.trailers.to_a
      assert_nil response.headers["x-chunks"]
      assert_equal response, Marshal.load(Marshal.dump(response))
      assert_equal "3", Marshal.load(Marshal.dump(response)).trailers[:x_chunks]
    end
    assert_equal [[], {}], [client.get(url("/r/1")).trailers.to_a, Hecaton::Response.new(status: 200).trailers.to_h]
    assert_equal "x", Hecaton::Response.new(status: 200, trailers: { "Sum" => "x" }).trailers["sum"]
  end

  def test_streams_have_them_at_their_end
    both do |client, url|
      client.get("#{url}/chunked/3") do |stream|
        assert_empty stream.trailers.to_a
        stream.each_chunk { |chunk| refute_empty chunk }
        assert_equal({ "x-chunks" => "3" }, stream.trailers.to_h)
        refute_empty stream.headers.to_a
      end
    end
  end

  def test_in_a_batch_they_come_with_the_outcome
    heads = []
    client.batch do |batch|
      batch.get(url("/chunked/3")).on_headers { |head| heads << head.trailers.to_a }
        .on_body { nil }.on_complete do |outcome|
        assert_equal "3", outcome.trailers["x-chunks"]
      end
      batch.get(url("/chunked/2")).on_complete { |outcome| assert_equal "2", outcome.trailers["x-chunks"] }
    end
    assert_equal [[]], heads
  end

  def test_they_have_the_limits_of_headers
    Scripted.run("/" => "#{CHUNKED}A: 1\r\nB: \xff\r\n\r\n", "/odd" => "#{CHUNKED}odd\r\n\r\n") do |server|
      trailers = client.get("#{server.url}/").trailers
      assert_equal ["1", "\xff".b], [trailers["a"], trailers["b"].b]
      error = error_of(Hecaton::BodyError) { client(max_header_fields: 1).get("#{server.url}/") }
      assert_match(/trailers have more fields than max_header_fields/, error.message)
      error_of(Hecaton::BodyError) { client.get("#{server.url}/odd") }
    end
  end
end
