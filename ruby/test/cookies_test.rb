# Cookies: only with a jar, on every hop, shared as far as the jar is, and for no other host.
require "test_helper"
require "scripted"

class CookiesTest < ServerTest
  RESPONSES = {
    "/login" => Scripted.response(302, "Location" => "/",
      "Set-Cookie" => ["session=secret; HttpOnly", "a=b; Path=/x; Max-Age=60"]),
    "/" => Scripted.response(200), "/x" => Scripted.response(200)
  }.freeze

  def server(&block) = Scripted.run(RESPONSES, &block)
  def cookies(server) = server.requests.map { |request| request[/^cookie: (.*)\r$/i, 1] }

  def test_off_by_default
    server do |server|
      client = client(redirects: 1)
      client.get("#{server.url}/login")
      assert_nil client.cookies
      assert_equal [nil, nil], cookies(server)
    end
  end

  def test_redirects_set_and_send_them
    server do |server|
      client = client(redirects: 1, cookies: true)
      assert_equal 200, client.get("#{server.url}/login").status
      client.get("#{server.url}/x")
      client.get("#{server.url.sub("127.0.0.1", "localhost")}/x")
      assert_equal [nil, "session=secret", "a=b; session=secret", nil], cookies(server)
    end
  end

  def test_a_cookie_header_of_ones_own_goes_alone
    server do |server|
      client = client(cookies: true)
      client.get("#{server.url}/login")
      client.get("#{server.url}/", headers: { "Cookie" => "own=1" })
      assert_equal [nil, "own=1"], cookies(server)
    end
  end

  def test_the_jar_can_be_shared_listed_and_cleared
    server do |server|
      jar = Hecaton::Cookies.new
      begun = Time.now
      client(cookies: jar).get("#{server.url}/login")
      client(cookies: jar).batch { |batch| batch.get("#{server.url}/x") }
      assert_equal [nil, "a=b; session=secret"], cookies(server)
      session, other = jar.sort_by(&:name).reverse
      assert_equal ["session", "secret", "127.0.0.1", "/", true, nil],
        [session.name, session.value, session.domain, session.path, session.http_only, session.expires]
      assert_includes (begun.floor + 60)..(Time.now.ceil + 60), other.expires
      refute_match(/secret/, jar.inspect + session.inspect + jar.to_a.inspect)
      assert_equal [2, 0], [jar.size, jar.clear.size]
    end
  end

  def test_a_jar_goes_through_json
    jar = Hecaton::Cookies.new
    assert jar.set("a=1; Max-Age=1000", "http://host.example/x/y")
    assert jar.set("b=\"2\"; Domain=host.example; Secure; HttpOnly", "https://www.host.example/")
    assert jar.set("c=a\ttab, which a server may send", "http://host.example/")
    refute jar.set("d=4; Domain=other.example", "http://host.example/")
    again = Hecaton::Cookies.from_json(jar.to_json)
    assert_equal jar.map { |cookie| cookie.to_h.merge(expires: cookie.expires&.to_i) },
      again.map { |cookie| cookie.to_h.merge(expires: cookie.expires&.to_i) }
    ["{", "{}", "[1]", '[{"name":"a;Domain=x","value":"b","domain":"h","path":"/"}]'].each do |bad|
      assert_raises(ArgumentError, bad) { Hecaton::Cookies.from_json(bad) }
    end
  end

  # RFC 6265 §5.2 lets a cookie have any bytes.
  def test_bytes_that_are_not_utf8_go_back_as_they_came
    sent = ["a=caf\xE9; HttpOnly", "b=\u{e9}", "c=\u{10ffe9}"].map(&:b)
    Scripted.run("/" => Scripted.response(200, "Set-Cookie" => sent)) do |server|
      first = client(cookies: true)
      assert_equal ["caf\xE9".b, "é", "\u{10ffe9}"], first.get(server.url).cookies.map(&:value)
      assert_equal ["caf\xE9".b, "é", "\u{10ffe9}"], first.cookies.map(&:value)
      copy = Hecaton::Cookies.from_json(first.cookies.to_json)
      [first, client(cookies: copy)].each { |client| client.get(server.url) }
      both = cookies(server).drop(1)
      assert_equal ["a=caf\xE9; b=\u{e9}; c=\u{10ffe9}".b] * 2, both.map(&:b)
    end
  end

  def test_no_output_shows_a_value
    jar = Hecaton::Cookies.new
    jar.set("a=secret", "http://host/")
    objects = [jar, jar.first, [jar.first]]
    shown = objects.flat_map { |object| [object.inspect, object.to_s, capture_io { pp object }.first] }
    assert_empty shown.grep(/secret/)
  end

  def test_no_injection_through_a_cookie
    jar = Hecaton::Cookies.new
    ["\r\n", "\r", "\n", "\0"].each { |bad| assert_raises(ArgumentError) { jar.set("a=b#{bad}x", url("/")) } }
    assert_raises(ArgumentError) { client(cookies: "a=b") }
    assert_equal 0, jar.size
  end

  def test_a_forked_child_continues_with_a_copy
    server do |server|
      client = client(cookies: true)
      client.get("#{server.url}/login")
      pid = fork do
        client.get("#{server.url}/")
        client.cookies.set("child=1", "#{server.url}/")
        exit!(client.cookies.size == 3)
      end
      assert Process.wait2(pid).last.success?
      assert_equal [nil, "session=secret"], cookies(server)
      assert_equal 2, client.cookies.size
    end
  end

  def test_threads_share_it
    server do |server|
      client = client(cookies: true)
      both = ->(cookie) { client.cookies.set(cookie, server.url); client.get("#{server.url}/") }
      Array.new(8) { |number| Thread.new { 20.times { both["n#{number}=1"] } } }.each(&:join)
      assert_equal 8, client.cookies.size
    end
  end
end
