# Hecaton::Call: the calling application, its timeouts, and its retries.
require "test_helper"
require_relative "../faraday/server"
require "hecaton/call"
require "stringio"

class CallTest < ServerTest
  Connection = Hecaton::Call::Connection

  def setup
    super
    @env = ENV.to_h
    %w[APP_NAME RACK_ENV].each { |name| ENV.delete(name) }
    Hecaton::Call.instance_variable_set(:@configuration, nil)
  end

  def teardown
    ENV.replace(@env)
    (@servers || []).each(&:stop)
  end

  def server(&handler)
    (@servers ||= []) << (server = Server.new(&handler))
    server
  end

  def connect(host = real_server.url, timeout: 5, app: "pokedex", env: "staging", **options, &block)
    Connection.new(host: host, timeout: timeout, app: app, env: env, **options, &block)
  end

  # A server that responds with one status after the other, and with the request it received.
  def responding(*statuses) = server { |request|
    [statuses.size > 1 ? statuses.shift : statuses.first, {}, request.body]
  }

  def tries(error_or_response)
    list = error_or_response.respond_to?(:tries) ? error_or_response.tries : error_or_response.env[:hecaton_tries]
    list.map { |try| [try.number, try.status, try.error&.class] }
  end

  def test_credentials_reach_the_server
    headers = JSON.parse(connect.get("/echo").body)["headers"].to_h.transform_keys(&:downcase)
    assert_equal %w[pokedex pokedex staging], headers.values_at("user-agent", "x-app-name", "x-app-env")
    Hecaton::Call.configure do |config|
      config.app_name_header = "X-Who"
      config.app_env_header = "X-Where"
    end
    headers = JSON.parse(connect.get("/echo").body)["headers"].to_h.transform_keys(&:downcase)
    assert_equal ["pokedex", "staging", nil], headers.values_at("x-who", "x-where", "x-app-name")
  end

  def test_what_is_missing_is_an_error_of_its_own
    { { app: nil } => Connection::MissingApp, { env: nil } => Connection::MissingEnv,
      { timeout: nil } => Connection::MissingTimeout,
      { open_timeout: nil } => Connection::MissingOpenTimeout }.each do |options, kind|
      assert_operator assert_raises(kind) { connect(**options) }.class, :<, ArgumentError
    end
    assert_raises(Connection::MissingTimeout) { Connection.new(host: "http://host", app: "a", env: "b") }
    assert_raises(Connection::MissingApp) { Connection.new(host: "http://host", timeout: 1, env: "b") }
    assert_raises(ArgumentError) { Connection.new(timeout: 1) }
  end

  def test_the_name_comes_from_the_configuration_then_the_environment_then_rails
    name = -> { Connection.new(host: "http://host", timeout: 1).headers.values_at("X-App-Name", "X-App-Env") }
    with_rails { assert_equal %w[my-http-shop test], name.call }
    ENV.update("APP_NAME" => "from-env", "RACK_ENV" => "production")
    with_rails { assert_equal %w[from-env production], name.call }
    Hecaton::Call.configure { |config| config.app_name, config.app_env = "configured", "staging" }
    assert_equal %w[configured staging], name.call
  end

  def test_timeouts_are_the_connections
    connection = connect(timeout: 7)
    assert_equal [7, 1], [connection.options.timeout, connection.options.open_timeout]
    assert_equal 3, connect(open_timeout: 3).options.open_timeout
  end

  def test_the_block_is_faradays_and_may_set_another_adapter
    connection = connect { |faraday| faraday.headers["Foo"] = "bar" }
    assert_equal "bar", JSON.parse(connection.get("/echo").body)["headers"].to_h.transform_keys(&:downcase)["foo"]
    assert_equal Faraday::Adapter::Hecaton, connection.builder.adapter.klass
    other = connect { |faraday| faraday.adapter :net_http }
    assert_equal Faraday::Adapter::NetHttp, other.builder.adapter.klass
    assert_equal "pokedex", JSON.parse(other.get("/echo").body)["headers"].to_h.transform_keys(&:downcase)["user-agent"]
  end

  def test_gzip_is_left_to_the_middleware_only_where_the_adapter_does_not_decode
    skip "faraday_middleware is for Faraday 1" if Faraday::VERSION.to_i >= 2

    require "faraday_middleware"
    stack = ->(adapter) { connect { |faraday| faraday.adapter(adapter) }.builder.handlers.map(&:name) }
    refute_includes stack.call(:hecaton), "FaradayMiddleware::Gzip"
    refute_includes stack.call(:net_http), "FaradayMiddleware::Gzip"
    assert_equal "FaradayMiddleware::Gzip", stack.call(:test).last
  end

  def test_failures_are_tried_three_times_more_and_each_try_is_reported
    silent = server { "" } # Closes each connection without a response.
    error = assert_raises(Faraday::ConnectionFailed) { connect(silent.url, retry_options: { interval: 0 }).get("/") }
    assert_equal (1..4).map { |number| [number, nil, Faraday::ConnectionFailed] }, tries(error)
    assert_equal 4, silent.arrived.size
    assert_raises(Faraday::ConnectionFailed) { connect(silent.url, retry_options: { interval: 0 }).post("/", "x") }
    assert_equal 1, silent.arrived.size, "a POST is not tried again"
  end

  def test_a_response_lists_its_tries
    flaky = responding(503, 503, 200)
    response = connect(flaky.url, retry_options: { interval: 0, retry_statuses: [503], methods: [:post] })
      .post("/", "body")
    assert_equal [[1, 503, nil], [2, 503, nil], [3, 200, nil]], tries(response)
    assert_equal %w[body body body], flaky.arrived.map(&:body)
    assert_equal [200, "body"], [response.status, response.body]
    last = connect(responding(503).url, retry_options: { interval: 0, max: 1, retry_statuses: 503 }).get("/")
    assert_equal [503, 2], [last.status, last.env[:hecaton_tries].size]
  end

  def test_no_try_begins_when_its_wait_would_use_up_the_total
    silent = server { "" }
    error = assert_raises(Faraday::ConnectionFailed) { connect(silent.url, retry_options: { interval: 5 }).get("/") }
    assert_equal 1, error.tries.size, "the interval is as long as the total"
    waiting = server { |_| [503, { "Retry-After" => "1000" }] }
    assert_equal 1,
      connect(waiting.url, retry_options: { retry_statuses: [503], interval: 0 }).get("/").env[:hecaton_tries].size
  end

  def test_the_total_is_for_all_tries_together
    held = server { :hang }
    given = []
    noting = Class.new(Faraday::Middleware) {
      define_method(:call) { |env| given << env.request.timeout; @app.call(env) }
    }
    connection = connect(held.url, timeout: 3, retry_options: { interval: 0.01, max: 4 }) do |faraday|
      faraday.options.read_timeout = 0.1
      faraday.use noting
    end
    error = assert_raises(Faraday::TimeoutError) { connection.get("/") }
    assert_operator error.tries.size, :>, 1
    assert_equal given.sort.reverse, given
    assert_operator given.first, :<=, 3
    assert_operator given.last, :<=, 3 - 0.1 * (given.size - 1), "each try has what those before it left"
    assert_equal 3, connection.options.timeout
    once = connect(held.url, timeout: 0.2)
    assert_equal 1, assert_raises(Faraday::TimeoutError) { once.get("/") }.tries.size,
      "a total that is used up leaves nothing for another"
  end

  def test_options_of_the_configuration_and_of_a_connection
    silent = server { "" }
    count = lambda do |**options|
      assert_raises(Faraday::ConnectionFailed) { connect(silent.url, **options).get("/") }
      silent.arrived.size
    end
    Hecaton::Call.configure { |config| config.retry_options = { interval: 0, max: 1 } }
    # Without tries of its own, the engine re-sends once.
    assert_equal [2, 3, 2], [count.call, count.call(retry_options: { max: 2 }), count.call(retry_options: false)]
    Hecaton::Call.configure { |config| config.retry = false }
    assert_equal 2, count.call(retry_options: { max: 2 })
    Hecaton::Call.configure { |config| config.retry = true }
    assert_match(/nonsense is unknown/, assert_raises(Faraday::Error) {
      connect(retry_options: { nonsense: 1 }).get("/r/1")
    }.message)
  end

  def test_exceptions_are_added_to_those_that_are_there
    own = Class.new(StandardError)
    raising = Class.new(Faraday::Middleware) { define_method(:call) { |_| raise own, "mine" } }
    connection = connect(retry_options: { interval: 0, max: 2, exceptions: [own] }) { |faraday| faraday.use raising }
    assert_equal 3, assert_raises(own) { connection.get("/") }.tries.size
    silent = server { "" }
    failing = connect(silent.url, retry_options: { interval: 0, max: 2, exceptions: [own] })
    assert_equal 3, assert_raises(Faraday::ConnectionFailed) { failing.get("/") }.tries.size
    other = connect { |faraday| faraday.use raising }
    assert_equal 1, assert_raises(own) { other.get("/") }.tries.size
  end

  def test_the_blocks_of_retry
    reported = []
    block = ->(*arguments, **named) {
      reported << (named.empty? ? arguments[2..] : named.values_at(:retry_count, :exception))
    }
    connect(responding(500, 500, 200).url,
      retry_options: { interval: 0, retry_statuses: [500], retry_block: block }).get("/")
    assert_equal Faraday::VERSION.to_i < 2 ? [[2, nil], [1, nil]] : [[0, nil], [1, nil]], reported
    requested = connect(responding(500, 200).url,
      retry_options: { interval: 0, retry_statuses: [500], retry_if: ->(env, _) { env.method == :post } })
    assert_equal 200, requested.post("/", "x").status
  end

  def test_middlewares_behind_it_begin_anew
    flaky = responding(503, 200)
    connection = connect(flaky.url, retry_options: { interval: 0, methods: [:post], retry_statuses: [503] }) { |faraday|
      faraday.request :url_encoded
    }
    connection.post("/", a: 1)
    assert_equal [["a=1", "application/x-www-form-urlencoded"]] * 2,
      (flaky.arrived.map { |request| [request.body, request.headers["content-type"]] })
  end

  def test_files_are_sent_again_whole
    if Faraday::VERSION.to_i >= 2
      require "faraday/multipart"
      kind = Faraday::Multipart::FilePart
    else
      kind = Faraday::FilePart
    end
    flaky = responding(503, 200)
    connection = connect(flaky.url, retry_options: { interval: 0, methods: [:post], retry_statuses: [503] }) { |faraday|
      faraday.request :multipart
    }
    connection.post("/", file: kind.new(StringIO.new("content"), "text/plain", "a.txt"))
    first, second = flaky.arrived
    assert_includes first.body, "content"
    assert_equal [first.body, first.headers["content-type"]], [second.body, second.headers["content-type"]]
  end

  def test_nothing_is_handed_to_on_data_twice
    short = server { |request| request.path == "/short" ? "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc" : "" }
    connection = connect(short.url, retry_options: { interval: 0 })
    pieces = []
    request_once = ->(path) {
      assert_raises(Faraday::ConnectionFailed) {
        connection.get(path) { |request| request.options.on_data = proc { |piece, *| pieces << piece } }
      }
    }
    assert_equal [1, "abc"], [request_once.call("/short").tries.size, pieces.join]
    assert_equal 4, request_once.call("/nothing").tries.size
  end

  def test_in_parallel_nothing_is_tried_again
    silent = server { "" }
    connection = connect(silent.url, retry_options: { interval: 0 })
    assert_raises(Faraday::ConnectionFailed) { connection.in_parallel { connection.get("/") } }
    assert_equal 1, silent.arrived.size
  end

  private

  # Stands for Rails, with the two methods that the gem calls.
  def with_rails
    application = Class.new
    application.define_singleton_method(:name) { "MyHTTPShop::Application" }
    rails = Module.new
    rails.define_singleton_method(:env) { "test" }
    rails.define_singleton_method(:application) { application.new }
    Object.const_set(:Rails, rails)
    yield
  ensure
    Object.send(:remove_const, :Rails)
  end
end
