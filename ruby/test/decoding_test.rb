# Content codings are taken off, and bombs reach the limit instead of filling the memory.
require "test_helper"
require "scripted"

class DecodingTest < ServerTest
  CODINGS = %w[gzip deflate br zstd].freeze

  # Bytes of memory that this process has in use.
  def resident = File.read("/proc/self/status")[/VmRSS:\s*(\d+)/, 1].to_i * 1024

  def test_each_coding_is_taken_off
    CODINGS.each do |coding|
      response = client.get(url("/encoded/#{coding}/100000"))
      assert_equal [100_000, coding], [response.body.bytesize, response.headers["content-encoding"]]
      assert response.body.start_with?("The quick brown fox")
    end
  end

  def test_decoding_can_be_left_out
    gzip = "\x1F\x8B".b
    assert client(decode: false).get(url("/encoded/gzip/100")).body.start_with?(gzip)
    assert client.get(url("/encoded/gzip/100"), headers: { "Accept-Encoding" => "gzip" }).body.start_with?(gzip)
  end

  def test_a_body_can_be_decoded_whose_request_names_its_codings
    client = client(decode_always: true)
    own = { "Accept-Encoding" => "br;q=0.1, gzip" }
    assert_equal 100, client.get(url("/encoded/gzip/100"), headers: own).body.bytesize
    assert_includes client.get(url("/echo"), headers: own).body, own.values.first
    off = client(decode: false, decode_always: true)
    refute_equal 100, off.get(url("/encoded/gzip/100"), headers: own).body.bytesize
  end

  def test_a_damaged_coding_is_a_body_error
    CODINGS.each do |coding|
      %w[corrupt truncated].each do |damage|
        error = error_of(Hecaton::BodyError) { client.get(url("/encoded/#{coding}-#{damage}/100000")) }
        assert_match(/undecodable/, error.message)
      end
    end
  end

  def test_codings_of_a_body_that_cannot_be_there_do_not_matter
    fields = { "Content-Encoding" => "gzip, gzip, gzip" }
    empty = "HTTP/1.1 204 X\r\nContent-Encoding: gzip, gzip, gzip\r\n\r\n"
    Scripted.run("/" => Scripted.response(200, fields), "/204" => empty) do |server|
      assert_equal [200, 204], [client.head("#{server.url}/"), client.get("#{server.url}/204")].map(&:status)
      error_of(Hecaton::BodyError) { client.get("#{server.url}/") }
    end
  end

  def test_a_bomb_is_stopped_by_the_cap_and_takes_no_memory
    client = client(max_body: 4 << 20)
    CODINGS.each { |coding| client.get(url("/bomb/#{coding}/1")) }
    before = resident
    CODINGS.each do |coding|
      assert_match(/4194304 bytes/, error_of(Hecaton::BodyError) { client.get(url("/bomb/#{coding}/10240")) }.message)
    end
    assert_operator resident - before, :<, 64 << 20
  end

  def test_without_a_cap_of_ones_own_it_is_64_mebibytes_of_decoded_bytes
    assert_equal 64 << 20, client(timeout: 60).get(url("/bomb/gzip/64")).body.bytesize
    error = error_of(Hecaton::BodyError) { client(timeout: 60).get(url("/bomb/gzip/65")) }
    assert_match(/67108864 bytes/, error.message)
  end

  def test_a_streamed_bomb_does_not_fill_the_memory
    CODINGS.each do |coding|
      before = resident
      most = size = 0
      client(timeout: 60).get(url("/bomb/#{coding}/256")) do |response|
        response.each_chunk do |chunk|
          size += chunk.bytesize
          GC.start if (size % (16 << 20)).zero?
          most = [most, resident].max if (size % (4 << 20)).zero?
        end
      end
      assert_equal 256 << 20, size
      assert_operator most - before, :<, 64 << 20
    end
  end
end
