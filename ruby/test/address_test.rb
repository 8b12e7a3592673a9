# A name with several addresses, and addresses that are known without asking.
require "test_helper"

class AddressTest < OriginTest
  def port = URI(origin.url).port

  def test_addresses_that_are_known_are_tried_in_turn
    client = client(resolve: { "many.example:#{port}" => ["127.0.0.9", "127.0.0.1"] })
    assert_equal 200, client.get("http://many.example:#{port}/r/1").status
    one = client(resolve: { "one.example:#{port}" => "127.0.0.1" })
    assert_equal 200, one.get("http://one.example:#{port}/r/1").status
  end

  def test_an_error_names_each
    free = TCPServer.open("127.0.0.1", 0) { |server| server.local_address.ip_port }
    client = client(resolve: { "many.example:#{free}" => ["127.0.0.8", "127.0.0.9"] })
    error = error_of(Hecaton::ConnectError) { client.get("http://many.example:#{free}/") }
    assert_match(/127\.0\.0\.8 \(.*refused.*127\.0\.0\.9 \(/, error.message)
  end

  def test_what_is_no_address_is_refused_at_once
    [{ "host" => ["127.0.0.1"] }, { "host:80" => [] }, { "host:80" => ["localhost"] }].each do |known|
      assert_match(/resolve/, assert_raises(ArgumentError) { client(resolve: known) }.message)
    end
  end
end
