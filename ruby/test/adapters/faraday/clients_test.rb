# Requests with equal settings share connections, in threads and on both sides of a fork.
require_relative "faraday_helper"

class FaradayClientsTest < FaradayTest
  CLIENTS = Faraday::Adapter::Hecaton::Clients

  # A server that responds with the number of the connection.
  def numbering = server { |request| [200, {}, request.connection.to_s] }

  def test_connections_of_equal_settings_share_their_connection
    server = numbering
    numbers = Array.new(3) { connection(server.url).get("/").body } +
              [connection(server.url, request: { timeout: 9 }).get("/").body] +
              [connection(server.url, request: { timeout: 8 }).get("/").body]
    assert_equal %w[1 1 1 2 2], numbers, "the last two have no other timeout than a total"
    assert_equal "3", connection(server.url, request: { timeout: 9, open_timeout: 3 }).get("/").body
    assert_equal "4", connection(server.url, [:hecaton, { max_body: 1000 }]).get("/").body
  end

  def test_settings_that_a_program_changes_later_count
    conn = connection(server { :hang }.url, request: { timeout: 60 })
    conn.options.read_timeout = 0.1
    assert_equal :first_byte, assert_raises(Faraday::TimeoutError) { conn.get("/") }.cause.phase
    conn.options.read_timeout = nil
    conn.options.timeout = 0.1
    assert_equal :total, assert_raises(Faraday::TimeoutError) { conn.get("/") }.cause.phase
    conn.ssl.verify_depth = 1
    assert_raises(Faraday::Error) { conn.get("/") }
  end

  # Faraday makes the adapter at the first request, which may be weeks after the deployment.
  def test_options_are_checked_where_the_connection_is_built
    {
      { timout: 1 } => /\Aadapter :hecaton: unknown keyword: :timout; did you mean timeout\?/,
      { per_origin: "4" } => /per_origin is of class String/,
      { base_url: "http://h" } => /give it to Faraday.new/,
      { url: "http://h" } => /did you mean base_url\? That is not an option of it: give it to Faraday.new/
    }.each do |options, message|
      assert_match message, assert_raises(Faraday::Error) { connection("http://h", [:hecaton, options]) }.message
      filled = Faraday.new("http://h") { |faraday| faraday.adapter(:hecaton) { |given| given.update(options) } }
      assert_match message, assert_raises(Faraday::Error) { filled.get("/") }.message
    end
    assert_equal "1",
      Faraday.new(numbering.url) { |faraday| faraday.adapter Faraday::Adapter::Hecaton, http: "1.1" }.get("/").body
    taken = Class.new(Faraday::Adapter) { define_method(:initialize) { |app, timout:| super(app, timout: timout) } }
    Faraday.new("http://h") { |faraday| faraday.adapter taken, timout: 1 }.app
  end

  def test_a_time_that_is_none_is_refused_by_the_name_that_it_was_given
    %i[open_timeout read_timeout write_timeout].each do |name|
      error = assert_raises(Faraday::Error) { connection("http://h", request: { name => "1" }).get("/") }
      assert_match(/\Arequest: #{name}: "1" is not a time in seconds/, error.message)
    end
  end

  def test_their_number_is_bounded_and_one_that_is_dropped_is_not_used_again
    server = numbering
    conn = connection(server.url, request: { open_timeout: 999 })
    assert_equal %w[1 1], [conn.get("/").body, conn.get("/").body]
    (CLIENTS::MOST + 1).times { |index| connection(server.url, request: { open_timeout: 1000 + index }).get("/") }
    assert_equal CLIENTS::MOST, CLIENTS.size
    again = connection(server.url, request: { open_timeout: 999 })
    number = conn.get("/").body
    refute_equal "1", number
    assert_equal number, again.get("/").body
  end

  def test_threads_share_them
    server = numbering
    conn = connection(server.url, request: { timeout: 60, open_timeout: 50 })
    responses = Array.new(8) { Thread.new { Array.new(25) { conn.get("/").status } } }.flat_map(&:value)
    assert_equal [200], responses.uniq
    assert_operator server.connections, :<=, 8
  end

  def test_a_child_opens_connections_of_its_own
    server = numbering
    conn = connection(server.url)
    assert_equal "1", conn.get("/").body
    reader, writer = IO.pipe
    pid = fork do
      writer.write(conn.get("/").body)
      exit!(0)
    end
    writer.close
    assert_equal "2", reader.read
    Process.wait(pid)
    assert_equal "1", conn.get("/").body
  end

  def test_close_closes_and_the_connection_can_be_used_again
    server = numbering
    conn = connection(server.url, request: { open_timeout: 7 })
    assert_equal "1", conn.get("/").body
    client = conn.app.build_connection(Faraday::Env.from(request: conn.options, ssl: conn.ssl))
    assert_equal 1, client.idle_connections
    conn.close
    assert_equal 0, client.idle_connections
    assert_equal "2", conn.get("/").body
  end

  def test_the_adapter_can_be_the_default_one
    before = Faraday.default_adapter
    Faraday.default_adapter = :hecaton
    assert_instance_of Hecaton::Response, Faraday.get("#{real_server.url}/r/1").env[:hecaton_response]
  ensure
    Faraday.default_adapter = before
    Faraday.default_connection = nil
  end

  def test_options_come_by_keywords_and_by_a_block
    speaking = TestServer.new("--http2")
    conn = Faraday.new(speaking.url) { |faraday|
      faraday.adapter(:hecaton, http: 2) { |settings| settings[:retry] = { max: 1, statuses: [503], interval: 0 } }
    }
    seen = conn.get("/status/503").env[:hecaton_response]
    assert_equal [503, 2, "2"], [seen.status, seen.attempts.size, seen.http_version]
    assert_equal "HTTP/2", JSON.parse(conn.post("/echo", "x").body)["protocol"]
  ensure
    conn&.close
    speaking&.stop
  end

  def test_the_environments_proxy_is_faradays_business
    proxy = server { [200, {}, "by the proxy"] }
    saved = ENV.to_h
    ENV["http_proxy"] = proxy.url
    ENV["no_proxy"] = nil
    assert_equal "by the proxy", connection("http://nowhere.test").get("/").body
    Faraday.ignore_env_proxy = true
    assert_equal 200, connection.get("/r/1").status
    assert_equal 1, proxy.arrived.size
  ensure
    Faraday.ignore_env_proxy = false
    ENV.replace(saved)
  end

  def test_an_empty_proxy_is_none
    ["", nil].each { |proxy| assert_equal 200, connection(proxy: proxy).get("/r/1").status }
  end

  def test_a_proxy_makes_a_tunnel_for_https
    proxy = server { |request| request.verb == "CONNECT" ? [407, {}] : [200, {}] }
    error = assert_raises(Faraday::ConnectionFailed) { connection("https://nowhere.test", proxy: proxy.url).get("/") }
    assert_match(/407/, error.message)
    assert_equal "nowhere.test:443", proxy.arrived.first.target
  end
end
