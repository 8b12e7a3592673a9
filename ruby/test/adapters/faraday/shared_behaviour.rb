# The behaviour that Faraday demands of every adapter, tested over real sockets. Included by tests that say which
# `adapter` they are for.
require "zlib"

module SharedBehaviour
  WITH_BODY = %i[post put patch].freeze
  VERBS = %i[get head post put patch delete options trace].freeze

  def conn(url = @server.url, **options, &block) = connection(url, adapter, **options, &block)

  # Sends a request of this verb, as Faraday's users do: what stands there goes to the query or to the body.
  def request_once(conn, verb, path = "/", payload = nil, headers = nil, &block)
    conn.public_send(verb, path, payload, headers, &block)
  end

  def responding(*reply, &block)
    @server = server(&(block || ->(_) { reply }))
  end

  VERBS.each do |verb|
    define_method(:"test_#{verb}_brings_status_reason_headers_and_body") do
      responding(201, { "Content-Type" => "text/plain", "X-Up" => "Case" }, "test", "Created")
      response = request_once(conn, verb)
      assert_equal [201, "Created", "text/plain", "Case", "Case"],
        [response.status, response.reason_phrase, response.headers["content-type"], response["X-Up"], response[:x_up]]
      assert_equal verb == :head ? "" : "test", response.body
      assert response.success?
      assert_equal verb.to_s.upcase, @server.arrived.first.verb
    end

    define_method(:"test_#{verb}_joins_repeated_headers") do
      responding(200, { "Set-Cookie" => ["a=1", "b=2"] })
      assert_equal "a=1, b=2", request_once(conn, verb).headers["set-cookie"]
    end

    define_method(:"test_#{verb}_sends_headers") do
      responding(200)
      request_once(conn, verb, "/", nil, user_agent: "Agent Faraday", "X-A" => "b")
      assert_equal ["Agent Faraday", "b"], @server.arrived.first.headers.values_at("user-agent", "x-a")
    end

    define_method(:"test_#{verb}_has_an_empty_body_when_none_came") do
      responding(200)
      assert_equal "", request_once(conn, verb).body
      responding(204)
      assert_equal [204, ""], request_once(conn, verb).then { |response| [response.status, response.body] }
    end

    define_method(:"test_#{verb}_encodes_params") do
      responding(200)
      encoding = conn { |faraday| faraday.request(:url_encoded) }
      [[{ name: "zack" }, "name=zack"],
       [{ name: { first: "z k", all: [1, 2] } }, "name%5Ball%5D%5B%5D=1&name%5Ball%5D%5B%5D=2&name%5Bfirst%5D=z+k"]]
        .each do |payload, encoded|
          request_once(encoding, verb, "/", payload)
          request = @server.arrived.first
          given = WITH_BODY.include?(verb) ? request.body : request.query
          assert_equal encoded.split("&").sort, given.split("&").sort
        end
    end

    define_method(:"test_#{verb}_sends_a_body_that_is_set") do
      responding(200)
      response = conn.public_send(verb, "/") { |request| request.body = "töst" }
      assert_equal ["töst".b, "5"],
        @server.arrived.first.then { |request| [request.body.b, request.headers["content-length"]] }
      assert_equal "töst", response.env.request_body
    end

    define_method(:"test_#{verb}_fails_when_nobody_listens") do
      error = assert_raises(Faraday::ConnectionFailed) {
        request_once(connection("http://127.0.0.1:#{closed_port}", adapter), verb)
      }
      refute_nil error.cause
    end

    define_method(:"test_#{verb}_times_out") do
      responding { :hang }
      { "/one" => { timeout: 0.3 }, "/two" => { timeout: 60, read_timeout: 0.1 } }.each do |path, limits|
        assert_raises(Faraday::TimeoutError) { request_once(conn(request: limits), verb, path) }
      end
      # Only these count: a test in another process may look for a closed port, and find this one.
      sent = @server.arrived.map(&:path).tally.slice("/one", "/two")
      assert_empty sent.select { |_, times| times > 1 }, "nothing is sent twice"
    end

    define_method(:"test_#{verb}_goes_through_a_proxy") do
      responding { |request| request.target.include?("refused") ? [407, {}] : [200, { "X-Target" => request.target }] }
      requesting = conn("http://nowhere.test", proxy: @server.url.sub("//", "//us%40er:secret@")) { |faraday|
        faraday.response(:raise_error)
      }
      assert_equal "http://nowhere.test/a", request_once(requesting, verb, "/a")["x-target"]
      assert_equal "Basic #{["us@er:secret"].pack("m0")}", @server.arrived.first.headers["proxy-authorization"]
      assert_raises(Faraday::ProxyAuthError) { request_once(requesting, verb, "/refused") }
    end

    define_method(:"test_#{verb}_streams") do
      large = "0123456789abcdef" * 20_000
      responding { |request| [200, { "X-A" => "b" }, request.path == "/large" ? large : ""] }
      { "/" => "", "/large" => verb == :head ? "" : large }.each do |path, body|
        pieces, envs = [], []
        response = request_once(conn, verb, path) do |request|
          request.options.on_data = proc { |chunk, size, env| pieces << [chunk, size]; envs << env }
        end
        assert_equal body, pieces.map(&:first).join
        sum = 0
        assert_equal pieces.map { |chunk, _| sum += chunk.bytesize }, pieces.map(&:last)
        assert_equal [""], pieces.map(&:first) if body.empty?
        assert_equal ["", 200, "b"], [response.body, response.status, response["x-a"]]
        if FaradayTest::TWO
          assert(envs.all? { |env| env.is_a?(Faraday::Env) && env.status == 200 && env.response_headers["x-a"] == "b" })
        end
      end
    end

    define_method(:"test_#{verb}_in_parallel") do
      responding { |request| [200, {}, "#{request.target}|#{request.body}"] }
      requesting = conn { |faraday| faraday.request(:url_encoded) }
      one = two = nil
      capture_io do # Not all adapters are parallel, and Faraday warns of it.
        requesting.in_parallel do
          one = request_once(requesting, verb, "/", a: "1")
          two = request_once(requesting, verb, "/", b: "2")
        end
      end
      refute_predicate requesting, :in_parallel?
      expected = WITH_BODY.include?(verb) ? ["/|a=1", "/|b=2"] : ["/?a=1|", "/?b=2|"]
      assert_equal verb == :head ? ["", ""] : expected, [one.body, two.body]
      assert_equal [200, 200], [one.status, two.status]
    end
  end

  def test_compressed_bodies_are_decoded
    { "gzip" => ->(text) { Zlib.gzip(text) }, "deflate" => ->(text) { Zlib.deflate(text) } }.each do |coding, encode|
      responding(200, { "Content-Encoding" => coding }, encode.call("plain " * 100))
      response = conn.get("/")
      assert_equal "plain " * 100, response.body
      assert_includes @server.arrived.first.headers["accept-encoding"], coding
    end
  end

  def test_a_body_in_a_requested_coding_comes_as_it_is
    coded = Zlib.gzip("plain")
    responding(200, { "Content-Encoding" => "gzip" }, coded)
    response = conn.get("/", nil, "Accept-Encoding" => "gzip")
    assert_equal [coded, "gzip", coded.bytesize.to_s],
      [response.body, *response.headers.values_at("content-encoding", "content-length")]
  end

  def test_statuses_become_errors_by_the_middleware
    responding { |request| [request.path.delete("/").to_i, {}, "no"] }
    requesting = conn { |faraday| faraday.response(:raise_error) }
    error = assert_raises(Faraday::ResourceNotFound) { requesting.get("/404") }
    assert_equal [404, "no"], error.response.values_at(:status, :body)
    assert_raises(Faraday::ServerError) { requesting.post("/503", "x") }
  end

  def test_a_post_without_a_body_says_that_it_has_none
    responding(200)
    conn.post("/")
    assert_equal ["", "0"], @server.arrived.first.then { |request| [request.body, request.headers["content-length"]] }
  end

  def test_what_is_no_http_is_a_failed_connection
    { "nonsense" => "nonsense\r\n\r\n", "nothing" => "" }.each do |name, reply|
      responding { reply }
      assert_raises(Faraday::ConnectionFailed, name) { conn.post("/", "x") }
    end
  end

  def test_an_io_is_sent_from_where_it_stands
    responding(200)
    io = StringIO.new("0123456789")
    io.pos = 4
    conn.post("/", io, "Content-Length" => "6")
    assert_equal ["456789", "6"],
      @server.arrived.first.then { |request| [request.body, request.headers["content-length"]] }
    conn.post("/", StringIO.new("in pieces"), "Transfer-Encoding" => "chunked")
    assert_equal ["in pieces", "chunked"],
      @server.arrived.first.then { |request| [request.body, request.headers["transfer-encoding"]] }
  end

  def test_the_urls_query_and_path_go_on_the_wire_as_faraday_made_them
    responding(200)
    conn(@server.url("/v1/")).get("a%2Fb/c%20d?x=1", y: "ä&")
    assert_equal "/v1/a%2Fb/c%20d?x=1&y=%C3%A4%26", @server.arrived.first.target
  end
end
