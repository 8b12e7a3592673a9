# Responses and headers are plain Ruby.
require "test_helper"
require "scripted"

class ResponseTest < ServerTest
  def test_marshalled_and_compared
    response = client.get(url("/echo"))
    copy = Marshal.load(Marshal.dump(response))
    assert_equal response, copy
    assert_equal response.attempts, copy.attempts
    assert_equal response.elapsed, copy.elapsed
  end

  def test_header_values_that_are_not_utf8
    response = "HTTP/1.1 200 OK\r\nX-A: caf\xE9\r\nX-B: é\r\nContent-Length: 0\r\n\r\n"
    headers = Scripted.run("/" => response) { |server| client.get("#{server.url}/").headers }
    assert_equal ["caf\xE9".b, "é", "0"], headers.map(&:last)
    assert_equal ["caf\xE9".b, "é"], [headers["x-a"], headers["x-b"]]
    assert_equal "\xE9".b, headers["x-a"][/[^a-z]/]
    mixed = Hecaton::Headers.new([["x", "caf\xE9".b], %w[x é]])
    assert_equal "caf\xE9, é".b, mixed["x"]
  end

  def test_the_encoding_is_that_of_the_charset
    {
      "text/plain; charset=ISO-8859-1" => Encoding::ISO_8859_1, 'text/html; CHARSET="utf-8"' => Encoding::UTF_8,
      "text/plain; format=flowed; charset=Shift_JIS" => Encoding::Shift_JIS, "application/json" => Encoding::UTF_8,
      "application/json; charset=iso-8859-1" => Encoding::ISO_8859_1, "text/plain; charset=no-such" => Encoding::BINARY,
      "text/plain; charset=UTF8" => Encoding::UTF_8, "application/problem+json" => Encoding::UTF_8,
      "application/HAL+JSON; x=y" => Encoding::UTF_8, "+json" => Encoding::UTF_8,
      **%w[locale external internal filesystem Locale]
        .to_h { |name| ["text/plain; charset=#{name}", Encoding::BINARY] },
      "text/plain; charset=" => Encoding::BINARY, "text/plain" => Encoding::BINARY, "image/png" => Encoding::BINARY
    }.each { |type, encoding| assert_body(type, "caf", encoding) }
  end

  # Text whose bytes do not fit its label would raise wherever a program works with it.
  def test_a_body_that_does_not_fit_its_charset_is_bytes
    [["text/html; charset=utf-8", "caf\xE9"], ["application/json", "\"\xFF\""],
     ["text/plain; charset=shift_jis", "a\x81"],
     ["text/plain; charset=us-ascii", "é"], ["text/plain; charset=utf-16le", "a\0"],
     ["text/plain; charset=UTF-16", "\xFE\xFF\0a"],
     ["text/plain; charset=iso-2022-jp", "a"]].each { |type, body| assert_body(type, body, Encoding::BINARY) }
    assert_body("text/plain; charset=iso-8859-1", "caf\xE9", Encoding::ISO_8859_1)
    json = '{"a":"é"}'.encode("UTF-16LE")
    Scripted.run("/" => Scripted.response(200,
      { "Content-Type" => "application/json; charset=utf-16le" }, json.b)) do |server|
      assert_equal({ "a" => "é" }, client.get("#{server.url}/").json)
    end
  end

  def assert_body(type, sent, encoding)
    Scripted.run("/" => Scripted.response(200, { "Content-Type" => type }, sent.b)) do |server|
      body = client.get("#{server.url}/").body
      assert_equal [encoding, sent.b], [body.encoding, body.b], type
    end
  end

  def test_interim_responses_are_not_the_response
    hints = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    Scripted.run("/" => hints + Scripted.response(200, { "X-A" => "1" }, "ok")) do |server|
      client = client()
      responses = Array.new(2) { client.get(server.url) }
      assert_equal [[200, "ok", "1", nil]] * 2,
        responses.map { |r| [r.status, r.body, r.headers["x-a"], r.headers["link"]] }
      assert responses.last.attempts.last.reused?
    end
  end

  def test_responses_without_body_leave_the_connection_usable
    client = client()
    seen = [client.head(url("/bytes/1000")), client.get(url("/status/204")),
            client.get(url("/status/304")), client.get(url("/r/1"))]
    assert_equal [200, 204, 304, 200], seen.map(&:status)
    assert_equal ["", "", ""], seen.first(3).map(&:body)
    assert_equal [false, true, true, true], seen.map { |response| response.attempts.last.reused? }
  end

  def test_made_by_hand
    response = Hecaton::Response.new(status: 201, headers: { "ETag" => "x" }, body: "hello")
    assert_equal [201, "x", "hello", true],
      [response.status, response.headers["etag"], response.body, response.success?]
    assert_equal response, Hecaton::Response.new(status: 201, headers: { "etag" => "x" }, body: "hello")
    refute_equal response, Hecaton::Response.new(status: 200, headers: { "etag" => "x" }, body: "hello")
    assert_nil response.timings.connect_time
  end

  def test_made_by_hand_without_body_and_headers
    response = Hecaton::Response.new(status: 204, headers: nil, body: nil, trailers: nil)
    assert_equal ["", {}, {}, nil],
      [response.body, response.headers.to_h, response.trailers.to_h, response.content_type]
    assert_match(/204 No Content, 0 bytes/, response.inspect)
    assert_equal response, Hecaton::Response.new(status: 204)
  end

  def test_a_frozen_response_has_all_facts
    facts = %i[status headers body url http_method redirects trailers elapsed
               reason content_type charset cookies http_version json timings inspect]
    given = { url: client.get(url("/echo")), hand: Hecaton::Response.new(status: 200, headers: { a: "b" }, body: "{}") }
    given.each_value do |response|
      reported = facts.to_h { |fact| [fact, response.public_send(fact)] }
      copy = Marshal.load(Marshal.dump(response))
      [response.dup.freeze, copy.freeze, Ractor.make_shareable(response.dup)].each do |frozen|
        assert_predicate frozen, :frozen?
        facts.each { |fact|
          reported[fact].nil? ? assert_nil(frozen.public_send(fact)) :
            assert_equal(reported[fact], frozen.public_send(fact), fact)
        }
        assert_equal response.attempts, frozen.attempts
      end
    end
    fresh = client.get(url("/echo")).freeze # Nothing of it was read before.
    assert_equal [200, "GET", 1], [fresh.status, fresh.http_method, fresh.attempts.size]
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

  def test_headers_are_found_in_any_case_and_by_symbols
    headers = client.get(url("/echo")).headers
    names = ["content-type", "Content-Type", :content_type, :"Content-Type"]
    names.each do |name|
      assert_equal ["application/json", true, true, true, true],
        [headers[name], *%i[include? member? key? has_key?].map { |request_once|
          headers.public_send(request_once, name)
        }]
      assert_equal ["application/json", ["application/json"]], [headers.fetch(name), headers.get_all(name)]
    end
    assert_equal ["d", "X-None"], [headers.fetch(:x_none, "d"), headers.fetch("X-None", &:itself)]
    assert_match(/X-None/, error_of(KeyError) { headers.fetch("X-None") }.message)
    refute_includes headers, "x-none"
    assert_equal({ "a-b" => "1" }, Hecaton::Headers.new(a_b: 1).to_h)
    assert_equal({ "A" => "1" }, Hecaton::Headers.new(a: 1).to_h { |name, value| [name.upcase, value] })
  end
end
