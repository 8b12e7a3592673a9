# The readers of a response beside its body: JSON, types, cookies, links, and pattern matching.
require "test_helper"
require "scripted"

class ReadingTest < ServerTest
  def response(body = "", headers = {}, status: 200, **facts)
    Hecaton::Response.new(status: status, headers: headers, body: body, **facts)
  end

  def typed(type) = response("", type ? { "Content-Type" => type } : {})

  def test_json
    assert_equal({ "a" => [1, nil] }, response('{"a":[1,null]}').json)
    assert_equal({ a: { b: 1 } }, response('{"a":{"b":1}}').json(symbolize_names: true))
    assert_equal [1, "x", nil, false], ["1", '"x"', "null", "false"].map { |text| response(text).json }
    assert_equal "é", response("\"é\"".encode("ISO-8859-1")).json
    assert_equal ["é", 1], response("\xEF\xBB\xBF[\"é\",1]".b).json
    frozen = '{"a":1}'.b.freeze
    assert_equal({ "a" => 1 }, response(frozen).json)
    assert_equal "/echo?x=1", client.get(url("/echo?x=1")).json["path"]
  end

  def test_what_is_not_json_is_an_error_that_says_what_it_is
    page = response("<h1>Not here</h1>\n", { "Content-Type" => "text/html" },
      status: 404, url: "http://host/a?secret=1", http_method: "GET")
    error = error_of(Hecaton::JSONError) { page.json }
    assert_equal "the body is not JSON (status 404, text/html, " \
      "18 bytes, GET http://host/a): <h1>Not here</h1>", error.message
    assert_same page, error.response
    assert_kind_of Hecaton::Error, error
    assert_kind_of JSON::ParserError, error.cause
    ["", " ", "{", "[1,]", "NaN", "\"\xFF\"", "[1] 2", "#{"[" * 200}#{"]" * 200}"].each do |bad|
      assert_match(/\Athe body is not JSON \(status 200, #{bad.bytesize} bytes\)/,
        error_of(Hecaton::JSONError) { response(bad).json }.message)
    end
  end

  def test_content_type_and_charset
    {
      "Text/HTML; Charset=\"UTF-8\"" => ["text/html", "utf-8"],
      "text/plain;charset=latin1 ; a=b" => ["text/plain", "latin1"],
      "application/json" => ["application/json", nil], "text/html; xcharset=a; charset=" => ["text/html", nil],
      "text/html; charset=utf-8 rest" => ["text/html", "utf-8"],
      "text/html; charset=\"UTF-8 \"x" => ["text/html", "utf-8"],
      "text/html; charset=\"utf-8" => ["text/html", "utf-8"],
      "text/html; charset=; charset=\"\"; charset=a" => ["text/html", "a"],
      ";charset=utf-8" => [nil, "utf-8"], "" => [nil, nil], nil => [nil, nil]
    }.each { |type, expected| assert_equal expected, [typed(type).content_type, typed(type).charset], type.inspect }
    assert_equal "text/plain", client.get(url("/headers?content-type=text/plain%3Bcharset=x")) { |stream|
      stream.content_type
    }
  end

  # The engine's own rule, for whole bodies.
  # A server sends bytes: none of them may raise where they are read.
  def test_fields_that_are_no_text_say_nothing_and_raise_nothing
    { "content-type" => ["text/plain\xFF; charset=utf-8", "\xFF", "a/b; charset=\xFF", "application/json; a=\xFF"],
      "link" => ["<\xFF>; rel=next", "<a>; rel=\xFF", "\xFF"],
      "deprecation" => ["\xFF", "@1\xFF"], "sunset" => ["\xFF"],
      "set-cookie" => ["\xFF=\xFF; path=\xFF"], "etag" => ["\"\xFF\""] }.each do |name, values|
      values.each do |value|
        Scripted.run("/" => Scripted.response(200, { name => value.b }, "é\n".b)) do |server|
          reported = []
          client = client(on_deprecation: ->(response) { reported << response }, cookies: true)
          facts = lambda do |reply|
            assert_match(/200 OK/, reply.inspect)
            %i[content_type charset links cookies sunset deprecation
               deprecated? sunset_link deprecation_link].map { |fact|
              reply.public_send(fact).inspect
            }
          end
          whole = client.get("#{server.url}/")
          assert_equal facts.call(whole), client.get("#{server.url}/") { |stream| facts.call(stream) }, value.inspect
          assert_equal whole.body.encoding,
            client.get("#{server.url}/") { |stream| stream.read.encoding }, value.inspect
          assert_equal [200, 200], client.get_all(["#{server.url}/"] * 2).map(&:status)
          refute_predicate whole, :deprecated?
          assert_empty reported
        end
      end
    end
    assert_equal "text/plain\u{fffd}", typed("text/plain\xFF").content_type
  end

  def test_the_encoding_of_pieces_is_that_of_the_whole
    ["text/html; charset=iso-8859-1", "text/html; charset=UTF-8",
     "application/json", "application/JSON; a=b", "text/html",
     "application/problem+json", "text/html; charset=utf8", "application/json; charset=", "application/json; " \
     "charset=utf-8; a=\xFF", *%w[locale external internal filesystem].map { |name| "text/html; charset=#{name}" },
     "text/event-stream", "text/html; charset=odd", "text/html; charset=\"shift_jis\""].each do |type|
      Scripted.run({ "/" => Scripted.response(200, { "Content-Type" => type }, "x") }) do |server|
        assert_equal client.get("#{server.url}/").body.encoding, Hecaton::ContentType.encoding(type), type
      end
    end
  end

  def test_classes_of_status
    kinds = %i[success? ok? redirect? client_error? server_error?]
    { 200 => [true, true, false, false, false],
      299 => [true, true, false, false, false], 304 => [false, false, true, false, false],
      404 => [false, false, false, true, false], 599 => [false, false, false, false, true],
      600 => [false] * 5 }.each do |status, expected|
      assert_equal expected, kinds.map { |kind| response(status: status).public_send(kind) }, status
    end
    error = Hecaton::TimeoutError.new("x")
    assert_equal [false] * 5, kinds.map { |kind| error.public_send(kind) }
    assert_equal [false, false, false, true, false],
      kinds.map { |kind| Hecaton::StatusError.new(response(status: 404)).public_send(kind) }
  end

  def test_code_reason_and_text
    reply = client.get(url("/status/404"))
    assert_equal [404, "Not Found"], [reply.code, reply.reason]
    assert_nil response(status: 299).reason
    assert_equal reply.body, reply.to_s
    assert_equal "#<Hecaton::Response 200 OK, text/plain, 3 bytes>",
      response("abc", { "Content-Type" => "text/plain; a=secret", "Cookie" => "secret" },
        url: "http://host/?secret").inspect
    assert_equal "#<Hecaton::Response 299, 0 bytes>", response(status: 299).inspect
  end

  def test_cookies
    set = ["a=1; Path=/; Secure; HttpOnly", "b=2; Max-Age=60; Domain=host.example",
           "gone=1; Max-Age=0", "other=1; Domain=elsewhere.example", "; odd"]
    cookies = response("", { "Set-Cookie" => set }, url: "https://www.host.example/x").cookies
    assert_equal %w[a b], cookies.map(&:name).sort
    first, second = cookies.sort_by(&:name)
    assert_equal ["1", "www.host.example", true, true, nil],
      [first.value, first.domain, first.secure, first.http_only, first.expires]
    assert_equal ["host.example", false, Time], [second.domain, second.host_only, second.expires.class]
    assert_equal [], response.cookies
    assert_equal [%w[a 1]], response("", { "Set-Cookie" => "a=1" }).cookies.map { |cookie| [cookie.name, cookie.value] }
    real = client.get(url("/cookies/set?a=1&b=2%3B%20Path%3D/x"))
    assert_equal [%w[a 1 /cookies], %w[b 2 /x]],
      real.cookies.map { |cookie| [cookie.name, cookie.value, cookie.path] }.sort
  end

  def test_links
    text = '</p?page=2>; rel="next"; title="a, b", <x>; rel="last Prev"; type=text/html, ' \
      '<http://o/>; rel=next, </odd>; rel=up; anchor="#a"'
    links = response("", { "Link" => text }, url: "http://host/a/b").links
    assert_equal "http://host/p?page=2", links["next"]
    assert_equal ["http://host/a/x"] * 2, [links[:PREV], links["last"]]
    assert_equal ["http://host/p?page=2", "http://o/"], links.get_all("next").map(&:url)
    assert_equal({ "rel" => "last Prev", "type" => "text/html" }, links.get_all("last").first.parameters)
    assert_equal [nil, true, false], [links["up"], links.key?("last"), links.key?("first")]
    assert_equal [4, "http://host/odd", %w[up]], [links.size, links.to_a.last.to_s, links.to_a.last.rel]
    assert_equal({ "next" => "http://host/p?page=2", "last" => "http://host/a/x", "prev" => "http://host/a/x" },
      links.to_h)
    assert_equal "x", response("", { "Link" => "<x>; rel=next" }).links["next"]
    assert_predicate response.links, :empty?
    assert_equal ["#<Hecaton::Links next>", 1], response("", { "Link" => '<x?secret>; rel=next, <http://[>; rel=up' },
      url: "http://host/").links.then { |all| [all.inspect, all.size] }
  end

  def test_pattern_matching_of_responses
    reply = client.get(url("/headers?content-type=text/plain&x-one=1"))
    seen = case reply
           in { status: 500.. } then :bad
           in { status: 200..299, body:, headers: { x_one:, content_type: /plain/ } } then [body, x_one]
           end
    assert_equal [reply.body, "1"], seen
    refute((reply in { headers: { x_two: /./ } }))
    refute((reply in { error: nil }))
    assert((reply in Hecaton::Response[code: 200, url: /headers/]))
    assert_equal %i[status code headers body content_type charset url http_method redirects attempts elapsed response],
      reply.deconstruct_keys(nil).keys
    assert_equal "1", reply.headers.deconstruct_keys(nil)[:x_one]
    assert_equal 404, (client.get(url("/status/404")) { |stream| stream => { status: }; status })
  end

  def test_pattern_matching_of_errors
    outcomes = client.get_all([url("/r/1"), url("/fault/close"), url("/status/404"), "odd"], raise_for_status: true)
    said = outcomes.map do |outcome|
      case outcome
      in { status: 200..299 } then :good
      in { error: Hecaton::StatusError, status:, response: { code: } } then [status, code]
      in { error: Hecaton::URLError, sent: } then sent
      in { error:, phase: } then [error.class, phase]
      end
    end
    assert_equal [:good, [Hecaton::ProtocolError, :first_byte], [404, 404], false], said
    assert_equal %i[error message phase reason sent url redirects
                    attempts elapsed cause status response http_method excerpt],
      outcomes[2].deconstruct_keys(nil).keys
  end
end
