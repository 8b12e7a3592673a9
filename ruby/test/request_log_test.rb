# A line for each request, heads at level debug, and no secret in either.
require "test_helper"
require "logger"
require "scripted"
require "stringio"

class RequestLogTest < ServerTest
  SECRET = "hush"

  # The messages that a logger of this level gets while the block runs with it: [level, message].
  def logged(level = :info)
    said = []
    logger = Logger.new(StringIO.new, level: level, formatter: ->(severity, _, _, message) {
      said << [severity.downcase.to_sym, message]; ""
    })
    yield logger
    said
  end

  def lines(level = :info, &block) = logged(level, &block).map(&:last)

  def test_a_line_for_each_request
    said = lines do |logger|
      client = client(logger: logger, redirects: 1, retry: { statuses: [503], interval: 0.001 })
      client.get(url("/r/1?#{SECRET}#x"))
      client.post(url("/status/404"), body: SECRET)
      client.get(url("/status/503"))
      client.get(url("/redirect/302/1?to=#{url("/r/2?#{SECRET}")}"))
      assert_raises(Hecaton::ProtocolError) { client.get(url("/fault/close?#{SECRET}")) }
      client.get(url("/bytes/5000")) { |stream| stream.read(10) }
    end
    base = Regexp.escape(real_server.url)
    [%r{\AGET #{base}/r/1 200 in \d+\.\d ms, 1 attempt\z}, %r{\APOST #{base}/status/404 404 in \d+\.\d ms, 1 attempt\z},
     %r{\AGET #{base}/status/503 503 in \d+\.\d ms, 3 attempts\z},
     %r{\AGET #{base}/redirect/302/1 200 in \d+\.\d ms, 2 attempts, 1 redirect to #{base}/r/2\z},
     %r{\AGET #{base}/fault/close ProtocolError \(first_byte\) in \d+\.\d ms, [34] attempts: .*\z},
     %r{\AGET #{base}/bytes/5000 200 in }]
      .each_with_index { |expected, index| assert_match expected, said[index] }
    assert_equal 6, said.size
    refute_match(/#{SECRET}/, said.join)
  end

  def test_in_a_batch_and_of_a_status_that_is_an_error
    said = lines do |logger|
      client = client(logger: logger)
      client.get_all([url("/r/1"), "no url", url("/fault/close")])
      client.batch { |batch| batch.get(url("/r/2")).on_body { nil } }
      assert_raises(Hecaton::StatusError) { client.get(url("/status/500"), raise_for_status: true) }
    end
    assert_equal ["200", "404", "500"].values_at(0, 0, 2),
      said.grep(/ \d{3} in /).map { |line| line[/ (\d{3}) in /, 1] }
    assert_equal [1, 1], [said.grep(/URLError \(queue\)/).size, said.grep(/ProtocolError/).size]
    assert_equal 5, said.size
  end

  def test_heads_at_level_debug_without_secrets
    reply = Scripted.response(200, { "Set-Cookie" => "a=#{SECRET}",
      "Location" => "http://u:#{SECRET}@host/x?#{SECRET}", "X-Plain" => "shown", "X-Request-Key" => SECRET })
    Scripted.run({ "/x?q=#{SECRET}" => reply }) do |server|
      said = logged(:debug) do |logger|
        client = client(logger: logger, public_headers: %w[x-own X-Both X-Plain],
          headers: { "X-Own" => "client", "X-Both" => "client", "Api-Key" => SECRET },
          bearer: SECRET, base_url: server.url)
        own = { "X-Both" => "request", "Cookie" => "b=#{SECRET}",
                "Proxy-Authorization" => SECRET, "Referer" => "http://a/b?#{SECRET}" }
        client.get("x?q=#{SECRET}", headers: own)
        client.batch { |batch| batch.get("/x", params: { q: SECRET }, headers: own) }
        client.batch { |batch| batch.get("/x?q=#{SECRET}") }
        client.get("/x?q=#{SECRET}", headers: { "X-Own" => nil }, basic_auth: ["user", SECRET], &:read)
      end
      text = said.map(&:last).join("\n")
      refute_match(/#{SECRET}|#{["user:#{SECRET}"].pack("m0")}/, text)
      assert_equal %i[debug info debug] * 4, said.map(&:first)
      request, line, response = said.first(3).map(&:last)
      assert_equal ["> Api-Key: [hidden]", "> Authorization: [hidden]",
                    "> Cookie: [hidden]", "> GET x", "> Proxy-Authorization: [hidden]",
                    "> Referer: [hidden]", "> X-Both: request", "> X-Own: client"], request.lines(chomp: true).sort
      assert_match(/\AGET http:\S+\/x 200 in/, line)
      assert_equal ["< 200 OK", "< content-length: 0",
                    "< location: http://host/x?[hidden]", "< set-cookie: [hidden]", "< x-plain: shown",
                    "< x-request-key: [hidden]"], response.lines(chomp: true).sort
      refute_match(/X-Own/, said[9].last)
    end
  end

  def test_heads_show_nothing_of_queries_fragments_and_logins_however_they_are_written
    fields = { "Location" => "http://host/x#token=#{SECRET}",
               "Content-Location" => "/x?a=1,2;token=#{SECRET}", "Refresh" => "0;url=/x?a=b c,#{SECRET}",
               "Link" => "<http://host/x?a=1,2&token=#{SECRET}>; rel=next" }
    Scripted.run({ "/" => Scripted.response(200, fields) }) do |server|
      said = lines(:debug) { |logger| client(logger: logger).get("#{server.url}/") }.last
      assert_equal ["< location: http://host/x#[hidden]",
                    "< content-location: /x?[hidden]", "< refresh: 0;url=/x?[hidden]",
                    "< link: <http://host/x?[hidden]>; rel=next"], said.lines(chomp: true)[1, 4]
      urls = ["http:/u:#{SECRET}@host/", "http:\\\\u:#{SECRET}@host/",
              "http:u:#{SECRET}@host/", "//u:#{SECRET}@host/", "http://u:#{SECRET}#a@host/",
              "http://u:#{SECRET}?a@host/", "http://u:a/#{SECRET}@host/", "\xFF\xFEhttp://u:#{SECRET}@host/"]
      said = lines(:debug) do |logger|
        client = client(logger: logger)
        urls.each { |url| error_of(ArgumentError) { client.get(url) } }
        client.get_all(urls)
      end
      assert_equal 3 * urls.size, said.size
      refute_match(/#{SECRET}/, said.join("\n").scrub)
      assert_equal ["http://host/@a", "@a/b"],
        ["http://u:p@host/@a", "@a/b"].map { |url| Hecaton::RequestLog.given(url) }
    end
  end

  def test_a_url_with_a_misspelt_scheme_and_a_password_is_not_shown
    ["ht!tp://u:SECRET@h/", "ht!tp://u:SEC/RET@h/x", " htt p://u:SECRET@h", "//u:SECRET@h/"].each do |bad|
      shown = [Hecaton::RequestLog.given(bad), Hecaton::Request.new(:get, bad).inspect].join
      refute_match(/RET/, shown)
    end
    assert_equal "https://host/web//http://x/@y", Hecaton::RequestLog.given("https://host/web//http://x/@y")
    assert_equal "users/@me", Hecaton::RequestLog.given("users/@me")
  end

  def test_no_value_of_a_header_that_nobody_called_public_is_written
    keys = %w[Ocp-Apim-Subscription-Key X-Functions-Key DD-APPLICATION-KEY
              X-Access-Key api_key X-Amz-Credential X-Pass X-Anything]
    Scripted.run({ "/" => Scripted.response(200, keys.to_h { |name|
      [name, SECRET]
    }.merge("Content-Type" => "text/plain", "ETag" => '"1"')) }) do |server|
      said = lines(:debug) { |logger|
        client(logger: logger).get(server.url, headers: keys.to_h { |name| [name, SECRET] }.merge("Accept" => "a/b"))
      }
      refute_match(/#{SECRET}/, said.join)
      assert_equal [keys.size, keys.size], said.values_at(0, 2).map { |head| head.scan("[hidden]").size }
      assert_includes said[0], "> Accept: a/b"
      assert_match(/< content-type: text\/plain/i, said[2])
      assert_match(/< etag: "1"/i, said[2])
    end
  end

  def test_heads_are_not_written_out_for_a_logger_above_debug
    quiet = Class.new do
      def info = yield
      def debug = raise("called")
      def debug? = false
    end
    _, complaints = capture_io { client(logger: quiet.new).get(url("/r/1")) }
    assert_empty complaints
  end

  def test_a_logger_that_raises_costs_no_outcome
    broken = Class.new do
      def info = raise(IOError, "full")
      def debug = raise(IOError, "full")
    end
    _, complaints = capture_io { assert_equal 200, client(logger: broken.new).get(url("/r/1")).status }
    assert_match(/hecaton: the logger raised IOError: full/, complaints)
  end

  def test_a_line_is_one_line
    error = Hecaton::ConnectError.new("a\nb\e[31m", phase: :connect, url: "http://u:p@host/\n?x")
    assert_equal "GET http://host/ ConnectError (connect) in 0.0 ms, 0 attempts: a b [31m",
      Hecaton::RequestLog.line("GET", error)
  end

  def test_what_is_no_logger_is_refused
    assert_match(/logger is of class IO: give one with info and debug/,
      error_of(ArgumentError) { client(logger: $stdout) }.message)
  end

  def test_a_token_that_is_renewed_shows_as_two_lines
    Scripted.run({ "/" => Scripted.response(401) }) do |server|
      tokens = %w[a b].each
      said = lines { |logger| client(logger: logger, bearer: -> { tokens.next }).get("#{server.url}/") }
      assert_equal 2, said.grep(/ 401 in .*, 1 attempt\z/).size
    end
  end
end
