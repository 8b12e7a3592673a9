# A name with several addresses, and addresses that need no look-up.
require "test_helper"
require "scripted"

class AddressTest < ServerTest
  def port = URI(real_server.url).port

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

  def test_the_address_of_this_side
    attempt = client(local_address: "127.0.0.3").get(url("/r/1")).attempts.last
    assert_equal "127.0.0.3", attempt.local.address
    error = error_of(Hecaton::ConnectError) { client(local_address: "203.0.113.7").get(url("/r/1")) }
    assert_match(/from local_address 203\.0\.113\.7/, error.message)
    assert_kind_of Errno::EADDRNOTAVAIL, error.cause
    assert_match(/no address of IPv6/, error_of(Hecaton::ConnectError) {
      client(local_address: "::1").get(url("/r/1"))
    }.message)
    ["eth0", "127.0.0.1:80", ""].each do |bad|
      assert_match(/local_address: .* is not an IP address/,
        assert_raises(ArgumentError) { client(local_address: bad) }.message)
    end
    assert_match(/exclude each other/, assert_raises(ArgumentError) {
      client(local_address: "127.0.0.1", unix_socket: "/x")
    }.message)
    assert_match(/local_address: a setting of connections/, assert_raises(ArgumentError) {
      client.with(local_address: "127.0.0.1")
    }.message)
  end

  def test_localhost_and_names_under_it_are_loopback
    assert_equal 200, client.get("http://shop.localhost:#{port}/r/1").status
  end

  def test_addresses_that_are_allowed
    near = "http://near.example:#{port}/r/1"
    known = { resolve: { "near.example:#{port}" => "127.0.0.1" } }
    [:public, [:public, "10.0.0.0/8"], { deny: ["127.0.0.0/8", "::1"] },
     { allow: "127.0.0.0/8", deny: ["127.0.0.1"] }, []].each do |rule|
      [url("/r/1"), near, "http://localhost:#{port}/r/1"].each do |there|
        error = error_of(Hecaton::ConnectError) { client(allow_address: rule, **known).get(there) }
        assert_match(/allow_address forbids 127\.0\.0\.1/, error.message)
        assert_equal [:connect, false], [error.phase, error.sent?]
      end
    end
    ["127.0.0.0/8", ["127.0.0.1", :public], { deny: [:public] }, { allow: nil }].each do |rule|
      assert_equal 200, client(allow_address: rule, **known).get(near).status
    end
  end

  def test_rules_for_addresses_that_cannot_be_used
    [:private, "private", ["10.0.0.0/33"], { allow: 5 }, { only: [] }, ->(_) { true }, 5].each do |rule|
      assert_match(/allow_address/, assert_raises(ArgumentError) { client(allow_address: rule) }.message)
    end
    assert_match(/Proc cannot be called/, assert_raises(ArgumentError) { client(allow_address: proc { true }) }.message)
  end

  # The zone says which of this machine's networks, and is for no other machine to know (RFC 6874).
  def test_an_ipv6_address_with_a_zone
    heads = Queue.new
    play = lambda do |connection|
      heads << connection.gets("\r\n\r\n")
      connection.write(Scripted.response(302, "Location" => "next"))
      heads << connection.gets("\r\n\r\n")
      connection.write(Scripted.response(200, "Set-Cookie" => "a=b", "Connection" => "close"))
    end
    peer = Peer.new(play, TCPServer.new("::1", 0))
    port = peer.port
    %w[%25lo %lo %251].each do |zone|
      response = client(redirects: true, cookies: true)
        .get("http://[::1#{zone}]:#{port}/a/b", headers: { "Authorization" => "x" })
      assert_equal 200, response.status
      first, second = heads.pop, heads.pop
      assert_equal ["GET /a/b HTTP/1.1", "GET /a/next HTTP/1.1"], [first, second].map { |head| head.lines.first.chomp }
      [first, second].each do |head|
        assert_equal "[::1]:#{port}", head[/^host: (.*)\r/i, 1]
        assert_match(/^authorization: x\r/i, head)
      end
    end
    assert_match(/no network "nowhere"/, error_of(Hecaton::ResolveError) {
      client.get("http://[::1%25nowhere]:#{port}/")
    }.message)
    ["http://[::1%25]/", "http://host%25lo/", "http://127.0.0.1%25lo/", "http://[::1%25a%20b]/"].each do |bad|
      error_of(ArgumentError) { client.get(bad) }
    end
    error = error_of(Hecaton::ConnectError) { client(allow_address: :public).get("http://[::1%25lo]:#{port}/") }
    assert_match(/forbids ::1/, error.message)
  rescue Errno::EADDRNOTAVAIL, Errno::EAFNOSUPPORT
    skip "this machine has no IPv6"
  ensure
    peer&.stop
  end

  def test_what_is_no_address_is_refused_at_once
    [{ "host" => ["127.0.0.1"] }, { "host:80" => [] }, { "host:80" => ["localhost"] }].each do |known|
      assert_match(/resolve/, assert_raises(ArgumentError) { client(resolve: known) }.message)
    end
  end
end
