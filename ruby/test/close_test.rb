# Client#close and Client.open give every descriptor back, whatever the protocol and however the requests ended.
require "test_helper"

class CloseTest < ServerTest
  # Without collecting garbage: what is forgotten must not be needed.
  def open_descriptors = Dir.children("/proc/self/fd").size

  SERVERS = {
    "plain" => [], "http2" => %w[--http2], "tls" => %w[--tls], "http2_over_tls" => %w[--http2 --tls]
  }.freeze
  SERVERS.each do |name, options|
    define_method("test_every_descriptor_comes_back_#{name}") do
      own = TestServer.new(*options)
      before = descriptors # Without those of what other tests forgot.
      http = options.include?("--http2") ? 2 : nil
      Hecaton::Client.open(timeout: 20, verify: false, http: http) { |client| use(client, own.url) }
      # The resolver's thread may need a moment more.
      wait_until { open_descriptors <= before }
      assert_operator open_descriptors, :<=, before
    ensure
      own&.stop
    end
  end

  # Requests that end in all the ways there are.
  def use(client, url)
    assert_equal 200, client.get("#{url}/r/1").status
    client.get("#{url}/bytes/1000000") { |response| response.each_chunk { break } }
    client.get("#{url}/bytes/1000") { |response| response.each_chunk(&:itself) }
    assert_equal [true], client.get_all(["#{url}/r/1"] * 20).map(&:success?).uniq
    assert_raises(Hecaton::TimeoutError) { client.get("#{url}/fault/stall-head", timeout: 0.1) }
    client.batch do |batch|
      batch.get("#{url}/bytes/100").on_body(&:itself)
      batch.get("#{url}/fault/stall-head").on_headers { flunk }
      batch.get("#{url}/r/1").on_complete { batch.abort }
    end
    assert_nil client.each_response(["#{url}/r/1"].cycle) { break }
  end
end
