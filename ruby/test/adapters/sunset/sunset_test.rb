# The middlewares for Rack, on the Rack that is installed.
require "test_helper"
require "rack"
require "rack/mock"
require "rack/lint"
require "logger"
require "stringio"
require "hecaton/sunset"

class SunsetTest < Minitest::Test
  DATE = DateTime.new(2089, 12, 31, 23, 59, 59)
  SAID = "Sat, 31 Dec 2089 23:59:59 GMT".freeze

  # The response to a request, of an application behind the middleware; both checked by Rack.
  def reply(*arguments, path: "/v1/users", headers: {}, env: {}, middleware: Hecaton::Sunset, **options, &block)
    app = Rack::Lint.new(->(_) { [200, { "content-type" => "text/plain" }.merge(headers), ["ok"]] })
    checked = Rack::Lint.new(middleware.new(app, *arguments, **options, &block))
    Rack::MockRequest.new(checked).get(path, env)
  end

  def test_a_date_and_a_link
    response = reply(DATE, link: "https://api.example/v2")
    assert_equal [SAID, '<https://api.example/v2>; rel="sunset"', "ok"],
      [response["Sunset"], response["Link"], response.body]
    assert_equal "Thu, 31 Dec 2089 23:59:59 GMT".size, reply(DATE)["Sunset"].size
    assert_nil reply(DATE)["Link"]
  end

  def test_dates_of_all_kinds
    [DATE, DATE.to_time, "2089-12-31T23:59:59Z", DateTime.new(2090, 1, 1, 1, 59, 59, "+2")].each { |date|
      assert_equal SAID, reply(date)["Sunset"]
    }
    assert_equal "Sat, 31 Dec 2089 00:00:00 GMT", reply(Date.new(2089, 12, 31))["Sunset"]
    assert_raises(TypeError) { reply(5) }
    assert_raises(ArgumentError) { reply("someday") }
    assert_raises(TypeError) { reply(DATE, link: 5) }
    assert_raises(TypeError) { reply(DATE, link: "x>\r\nSet-Cookie: a=1") }
  end

  def test_which_requests_it_is_for
    marked = ->(path, only) { !reply(DATE, only: only, path: path)["Sunset"].nil? }
    assert_equal [true, true, false, false], %w[/v1 /v1/users /v10 /].map { |path| marked.call(path, "/v1") }
    assert_equal [true, false], %w[/a/old /new].map { |path| marked.call(path, /old/) }
    assert_equal [true, true, false], %w[/a /b /c].map { |path|
      marked.call(path, ["/a", ->(env) { env["PATH_INFO"] == "/b" }])
    }
    assert marked.call("/anything", nil)
  end

  def test_several_dates_in_a_block_of_which_the_first_that_fits_counts
    rules = proc do
      sunset DATE, only: "/v1", link: ->(env) { "https://api.example#{env["PATH_INFO"]}" }
      sunset "2030-01-01", only: ["/v1", "/v2"]
    end
    assert_equal [SAID, '<https://api.example/v1/users>; rel="sunset"'], reply(&rules).then { |response|
      [response["Sunset"], response["Link"]]
    }
    assert_equal "Tue, 01 Jan 2030 00:00:00 GMT", reply(path: "/v2", &rules)["Sunset"]
    assert_nil reply(path: "/v3", &rules)["Sunset"]
  end

  def test_what_the_application_says_stays
    response = reply(DATE, link: "https://new.example/",
      headers: { "sunset" => "Wed, 01 Jan 2031 00:00:00 GMT", "link" => '</next>; rel="next"' })
    assert_equal ["Wed, 01 Jan 2031 00:00:00 GMT", '</next>; rel="next", <https://new.example/>; rel="sunset"'],
      [response["Sunset"], response["Link"]]
    frozen = { "Link" => "</a>; rel=next".freeze }.freeze
    app = ->(_) { [200, frozen, []] }
    assert_equal %(</a>; rel=next, <http://b>; rel="sunset"),
      Hecaton::Sunset.new(app, DATE, link: "http://b").call({})[1]["Link"]
  end

  def test_a_single_response_is_marked_by_hand
    assert_equal({ "sunset" => SAID, "link" => ["</a>", '<http://b>; rel="sunset"'] },
      Hecaton::Sunset.mark({ "link" => ["</a>"] }, DATE, link: "http://b"))
  end

  def test_who_still_calls_it_is_logged
    log = StringIO.new
    reply(DATE, logger: Logger.new(log), env: { "HTTP_USER_AGENT" => "pokedex" })
    assert_match(%r{WARN.*GET /v1/users.*sunset date 2089-12-31T23:59:59Z.*called by pokedex}, log.string)
  end

  def test_the_client_is_logged
    sent = { "HTTP_USER_AGENT" => "pokedex", "HTTP_X_APP_NAME" => "pokedex", "HTTP_X_APP_ENV" => "staging" }
    log = ->(env, **options) {
      capture_io { reply(middleware: Hecaton::Sunset::LogUserAgent, env: env, **options) }.first
    }
    assert_equal "user_agent=pokedex; app_name=pokedex; app_env=staging;\n", log.call(sent)
    assert_equal "user_agent=curl;\n", log.call({ "HTTP_USER_AGENT" => "curl" })
    assert_equal "user_agent=;\n", log.call({})
    assert_equal "user_agent=a b; app_name=me;\n",
      log.call({ "HTTP_USER_AGENT" => "a\nb", "HTTP_X_WHO" => "me" }, app_name_header: "X-Who")
    out = StringIO.new
    assert_equal "", log.call(sent, logger: Logger.new(out))
    assert_match(/INFO.*user_agent=pokedex;/, out.string)
  end

  # Whatever a client sends: the response is the application's, and the log has a line for it.
  def test_bytes_that_are_no_text
    app = ->(_) { [200, {}, ["ok"]] }
    path, agent = "/v1/\xFF", "a\xFF\u0085\nb"
    [path, path.b].product([agent, agent.b]).each do |requested, by|
      log = StringIO.new
      env = { "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "/é",
              "PATH_INFO" => requested, "HTTP_USER_AGENT" => by, "HTTP_X_APP_NAME" => "é" }
      logger = Logger.new(log, formatter: ->(_, _, _, message) { "#{message}\n" })
      app_with = Hecaton::Sunset::LogUserAgent.new(Hecaton::Sunset.new(app, DATE, only: %r{/é/v1}, logger: logger),
        logger: logger)
      assert_equal [200, SAID], app_with.call(env).then { |status, headers, _| [status, headers["sunset"]] }
      assert_equal ["user_agent=a\u{fffd}  b; app_name=é;",
                    "GET /é/v1/\u{fffd}, a deprecated endpoint (sunset date 2089-12-31T23:59:59Z), " \
                    "has been called by a\u{fffd}  b"],
        log.string.force_encoding("UTF-8").lines(chomp: true)
    end
  end

  def test_it_needs_no_engine
    script = 'require "hecaton/sunset"; exit!(defined?(Hecaton::Native) ? 1 : 0)'
    assert system(RbConfig.ruby, "-I#{File.expand_path("../../../lib", __dir__)}", "-e", script)
  end
end
