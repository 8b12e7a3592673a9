# Failures are Faraday's errors, each with Hecaton's as its cause; what cannot be honoured is refused.
require_relative "faraday_helper"

class FaradayErrorsTest < FaradayTest
  def test_a_refused_connection_reports_all_it_knows
    error = assert_raises(Faraday::ConnectionFailed) { connection("http://127.0.0.1:#{closed_port}").get("/") }
    cause = error.cause
    assert_instance_of Hecaton::ConnectError, cause
    assert_same cause, error.wrapped_exception
    assert_equal cause.message, error.message
    assert_equal [false, :connect, Errno::ECONNREFUSED], [cause.sent?, cause.phase, cause.cause.class]
    refute_nil error.backtrace
  end

  def test_each_error_of_hecatons_has_one_of_faradays
    {
      Hecaton::TimeoutError.new("x", phase: :total) => Faraday::TimeoutError,
      Hecaton::TimeoutError.new("x", phase: :first_byte) => Faraday::TimeoutError,
      Hecaton::TimeoutError.new("x", phase: :queue) => Faraday::TimeoutError,
      Hecaton::TimeoutError.new("x", phase: :connect) => Faraday::ConnectionFailed,
      Hecaton::ResolveError.new("x") => Faraday::ConnectionFailed,
      Hecaton::ProtocolError.new("x") => Faraday::ConnectionFailed,
      Hecaton::BodyError.new("x") => Faraday::ConnectionFailed, Hecaton::TLSError.new("x") => Faraday::SSLError,
      Hecaton::RedirectError.new("x") => Faraday::ClientError, Hecaton::ForkError.new("x") => Faraday::ConnectionFailed
    }.each do |error, kind|
      mapped = Faraday::Adapter::Hecaton::Errors.of(error)
      assert_equal [kind, error], [mapped.class, mapped.cause]
    end
  end

  def test_the_engines_redirects_fail_as_faradays_client_error
    conn = connection(real_server.url, [:hecaton, { redirects: 2 }])
    assert_raises(Faraday::ClientError) { conn.get("/redirect-loop") }
    response = conn.get("/redirect/302/1")
    assert_equal [200, "/echo"], [response.status, response.env.url.path]
  end

  def test_the_engines_redirects_take_along_what_is_called_public
    away = "#{real_server.url.sub("127.0.0.1", "localhost")}/echo"
    [[{}, [nil, nil]], [{ public_headers: ["X-Any"] }, ["1", nil]]].each do |more, expected|
      conn = connection(real_server.url, [:hecaton, { redirects: 1, **more }])
      sent = JSON.parse(conn.get("/redirect/302/1", { to: away }, "X-Any" => "1", "X-Key" => "2").body)["headers"].to_h
      assert_equal expected, sent.transform_keys(&:downcase).values_at("x-any", "x-key")
    end
  end

  def test_what_cannot_be_sent_is_refused
    conn = connection
    assert_match(/line break/, assert_raises(Faraday::Error) { conn.get("/echo", nil, "X-A" => "a\r\nb: c") }.message)
    assert_match(/class Hash/, assert_raises(Faraday::Error) { conn.post("/echo", { a: 1 }) }.message)
    assert_match(/body has 3 bytes/, assert_raises(Faraday::Error) {
      conn.post("/echo", "abc", "Content-Length" => "4")
    }.message)
    assert_raises(Faraday::Error) { Faraday.new { |faraday| faraday.adapter :hecaton }.get("/nowhere") }
  end

  def test_a_length_that_is_announced
    request_once = lambda do |length|
      reader, writer = IO.pipe
      writer.write("abc")
      writer.close
      connection.post("/echo", reader) { |request| request.headers["Content-Length"] = length }
    end
    assert_equal ["3", "abc"], seen(request_once.call(3)).then { |reported|
      [reported["headers"].transform_keys(&:downcase)["content-length"], reported["body"]]
    }
    ["x", "-1", "", 1.5, "0x3"].each do |length|
      assert_match(/Content-Length .*#{Regexp.escape(length.inspect)}.*\(POST /,
        assert_raises(Faraday::Error) { request_once.call(length) }.message)
    end
  end

  def test_each_error_says_which_request
    conn = connection(real_server.url)
    location = "#{real_server.url}/echo"
    secret = location.sub("://", "://user:password@") + "?token=1"
    requests_made = {
      "GET" => [->(request) { request.headers["X-A"] = "a\nb" }, ->(request) { request.options.timeout = "soon" },
                ->(request) { request.options.bind = { host: "127.0.0.1", port: 1 } },
                ->(request) { request.options.open_timeout = -1 }],
      "POST" => [->(request) { request.body = { a: 1 } }, ->(request) { request.body = 5 }]
    }
    requests_made.each do |verb, changes|
      changes.each do |change|
        request_once = -> { conn.run_request(verb.downcase.to_sym, secret, nil, nil, &change) }
        [request_once, -> { conn.in_parallel(&request_once) }].each do |way|
          error = assert_raises(Faraday::Error, &way)
          assert_equal 1, error.message.scan("(#{verb} #{location})").size, error.message
          refute_match(/token|password/, error.message)
        end
      end
    end
  end

  def test_an_error_that_names_its_url_says_it_once
    ["foo://127.0.0.1/a", "http://127.0.0.1:#{closed_port}/a"].each do |url|
      error = assert_raises(Faraday::Error) { connection(url).get }
      assert_equal 1, error.message.scan(url).size, error.message
    end
  end

  def test_a_url_that_is_none_is_the_same_error_in_parallel
    conn = connection("foo://nowhere.test/")
    alone = assert_raises(Faraday::Error) { conn.get("/") }
    together = assert_raises(Faraday::Error) { conn.in_parallel { conn.get("/") } }
    assert_equal [Faraday::Error, Faraday::Error], [alone.class, together.class]
  end

  def test_options_that_cannot_be_honoured_are_refused_by_name
    bind = { host: "127.0.0.1", port: 1 }
    assert_match(/bind has a port/, assert_raises(Faraday::Error) {
      connection(request: { bind: bind }).get("/r/1")
    }.message)
    { base_url: "http://x", headers: {}, bearer: "x", raise_for_status: true, cookies: true, nonsense: 1, http: "3" }
      .each do |name, value|
      error = assert_raises(Faraday::Error, name.to_s) {
        connection(real_server.url, [:hecaton, { name => value }]).get("/r/1")
      }
      assert_match(/#{name}/, error.message)
    end
  end

  def test_an_interrupt_of_rubys_leaves_the_request_and_closes_its_connection
    held = server { :hang }
    conn = connection(held.url, request: { open_timeout: 42 }) # A client of its own, to count its connections.
    assert_raises(Timeout::Error) { Timeout.timeout(0.5) { conn.get("/") } }
    thread = Thread.new { conn.get("/") }
    wait_until { held.requests.size == 2 }
    assert thread.kill.join(10)
    client = conn.app.build_connection(env_of(conn))
    wait_until { client.stats[:in_use].zero? }
    assert_equal [0, 0], client.stats.values_at(:in_use, :idle)
  end

  private

  def env_of(conn) = Faraday::Env.from(request: conn.options, ssl: conn.ssl)
end
