# One request at a time: methods, headers, bodies, connections.
require "test_helper"
require "scripted"
require "logger"
require "stringio"

class ClientTest < ServerTest
  # The request that arrived; names of headers in lower case, but where a test is about their case.
  def echo(response)
    JSON.parse(response.body).tap { |seen| seen["headers"].each { |field| field[0] = field[0].downcase } }
  end

  def test_timeout_is_mandatory
    assert_raises(ArgumentError) { Hecaton::Client.new }
    assert_raises(ArgumentError) { Hecaton::Client.new(timeout: nil) }
  end

  def test_bad_settings_are_refused
    assert_match(/seconds/, error_of(ArgumentError) { Hecaton::Client.new(timeout: -1) }.message)
    assert_match(/seconds/, error_of(ArgumentError) { Hecaton::Client.new(timeout: "5") }.message)
    assert_match(/seconds/, error_of(ArgumentError) { Hecaton::Client.new(timeout: Float::NAN) }.message)
    assert_match(/concurrency is 0/, error_of(ArgumentError) { client(concurrency: 0) }.message)
    assert_raises(ArgumentError) { client(user_agent: "a\r\nb: c") }
  end

  def test_get
    response = client.get(url("/bytes/1000"))
    assert_equal 200, response.status
    assert_equal 1000, response.body.bytesize
    assert_equal "1000", response.headers["Content-Length"]
    assert_equal [200], response.attempts.map(&:status)
    assert response.success?
  end

  def test_every_method_arrives_with_headers_and_body
    %w[get post put patch delete options].each do |verb|
      body = verb == "get" ? nil : "body of #{verb}"
      seen = echo(client.public_send(verb, url("/echo?a=b"), headers: { "X-Test" => verb }, body: body))
      assert_equal verb.upcase, seen["method"]
      assert_equal "/echo?a=b", seen["path"]
      assert_equal body.to_s, seen["body"]
      assert_includes seen["headers"], ["x-test", verb]
    end
  end

  def test_head_has_no_body
    response = client.head(url("/bytes/1000"))
    assert_equal [200, "", "1000"], [response.status, response.body, response.headers["content-length"]]
  end

  def test_repeated_headers_are_kept
    seen = echo(client.get(url("/echo"), headers: { "X-Many" => %w[1 2] }))
    assert_equal %w[1 2], seen["headers"].filter_map { |name, value| value if name == "x-many" }
  end

  # Its to_s is no String, and its to_str makes a new one each time.
  class OddValue
    def initialize(text) = @text = text
    def to_s = self

    def to_str
      GC.start
      @text.chars.join
    end
  end

  def test_odd_header_values_survive_the_garbage_collector
    sent = (1..20).to_h { |number| ["x-#{number}", number.to_s * 50] }
    seen = echo(client.get(url("/echo"), headers: sent.transform_values { |text| OddValue.new(text) }))
    assert_equal sent, seen["headers"].to_h.transform_keys(&:downcase).slice(*sent.keys)
  end

  def test_default_headers
    headers = echo(client.get(url("/echo")))["headers"].to_h.transform_keys(&:downcase)
    assert_equal "hecaton/#{Hecaton::VERSION}", headers["user-agent"]
    assert_equal real_server.url.delete_prefix("http://"), headers["host"]
    own = echo(client(user_agent: "mine").get(url("/echo")))["headers"].to_h.transform_keys(&:downcase)
    assert_equal "mine", own["user-agent"]
  end

  def test_binary_bodies_go_both_ways
    bytes = (0..255).to_a.pack("C*")
    assert_equal 256,
      echo(client.post(url("/echo"), body: bytes * 1))["headers"].to_h.transform_keys(&:downcase)["content-length"].to_i
  end

  def test_chunked_bodies
    response = client.get(url("/chunked/3"))
    assert_equal "chunk 1\nchunk 2\nchunk 3\n", response.body
  end

  def test_body_ended_by_the_connection
    response = client.get(url("/eof"))
    assert_equal 200, response.status
    refute_empty response.body
  end

  def test_statuses_are_responses
    [404, 500, 204, 304].each { |status| assert_equal status, client.get(url("/status/#{status}")).status }
  end

  def test_connections_are_reused_and_numbered
    client = client()
    first, second = Array.new(2) { client.get(url("/echo")) }
    assert_equal [false, true], [first, second].map { |response| response.attempts.last.reused? }
    assert_equal first.attempts.last.connection, second.attempts.last.connection
    assert_equal JSON.parse(first.body)["connection"], JSON.parse(second.body)["connection"]
    assert_equal 1, client.idle_connections
    client.close
    assert_equal 0, client.idle_connections
    assert_equal 200, client.get(url("/echo")).status
  end

  def test_idle_timeout_zero_keeps_nothing
    client = client(idle_timeout: 0)
    client.get(url("/echo"))
    assert_equal 0, client.idle_connections
  end

  def test_connection_close_is_heeded
    client = client()
    client.get(url("/close"))
    assert_equal 0, client.idle_connections
  end

  def test_a_connection_closed_by_the_server_is_noticed_before_it_is_used
    client = client()
    first = client.get(url("/fault/idle-close"))
    wait_until { client.idle_connections.zero? }
    second = client.get(url("/echo"))
    assert_equal 200, second.status
    refute_equal first.attempts.last.connection, second.attempts.last.connection
  end

  def test_idle_connections_give_way_when_descriptors_run_out
    server = Peer.new(method(:respond_once), TCPServer.new("0.0.0.0", 0))
    script = <<~RUBY
      require "hecaton"
      client = Hecaton::Client.new(timeout: 20)
      Process.setrlimit(:NOFILE, 40)
      60.times { |number| client.get("http://127.0.0.\#{number + 1}:#{server.port}/") }
      print client.idle_connections
    RUBY
    output =
      IO.popen([RbConfig.ruby, "-I#{File.expand_path("../lib", __dir__)}", "-e", script, err: %i[child out]], &:read)
    assert_includes 1..40, Integer(output, exception: false), output
  ensure
    server&.stop
  end

  def test_a_process_without_descriptors_gets_an_error_that_says_so
    script = <<~RUBY
      require "hecaton"
      Process.setrlimit(:NOFILE, 12)
      files = []
      begin
        loop { files << File.open("/dev/null") }
      rescue Errno::EMFILE
        nil
      end
      begin
        Hecaton::Client.new(timeout: 20)
      rescue Hecaton::ConnectError => error
        puts error.message, error.cause.class, error.phase.inspect, error.sent?
      end
      files.each(&:close)
      puts Hecaton::Client.new(timeout: 20).idle_connections
    RUBY
    output =
      IO.popen([RbConfig.ruby, "-I#{File.expand_path("../lib", __dir__)}", "-e", script, err: %i[child out]],
        &:readlines)
    message, *facts = output.map(&:chomp)
    # Each C library has its own words for it.
    assert_match(/reactor.*#{Errno::EMFILE.new.message}.*ulimit -n/, message)
    assert_equal ["Errno::EMFILE", ":connect", "false", "0"], facts
  end

  def test_a_local_address_may_have_a_zone
    response = Peer.run(method(:respond_once), on: TCPServer.new("::1", 0)) do |peer|
      client(local_address: "::1%lo").get(peer.url)
    end
    assert_equal "::1", response.attempts.last.local.address
    error = assert_raises(ArgumentError) { client(local_address: "fe80::1%") }
    assert_match(/local_address: "fe80::1%" is not an IP address/, error.message)
  end

  # Keeps the connection open until the client closes it.
  def respond_once(connection)
    connection.readpartial(4096)
    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    connection.read
  end

  def test_timings_add_up
    timings = client.get(url("/delay/50")).timings
    assert_operator timings.send_time + timings.first_byte_time, :>=, 0.05
    assert_operator timings.total_time, :>=,
      timings.connect_time + timings.send_time + timings.first_byte_time + timings.read_time
  end

  def test_headers_of_a_response_can_be_sent_on
    first = client.get(url("/bytes/1"))
    seen = echo(client.get(url("/echo"), headers: first.headers.reject { |name, _| name == "content-length" }))
    assert_includes seen["headers"], ["date", first.headers["date"]]
    assert_equal 200, client.get(url("/r/1"), headers: Hecaton::Headers.new).status
  end

  def test_encoding_follows_the_charset
    assert_equal Encoding::UTF_8, client.get(url("/echo")).body.encoding
  end

  def test_header_injection_sends_nothing
    sent = requests_of do
      bad = [
        [url("/echo\r\nX: y"), {}], [url("/a\tb"), {}], [url("/echo"), { headers: { "X" => "a\r\nb: c" } }],
        [url("/echo"), { headers: { "X\r\nY" => "a" } }], [url("/echo"), { headers: { "X" => "a\0" } }]
      ]
      bad.each { |url, options| assert_raises(ArgumentError) { client.get(url, **options) } }
      assert_raises(ArgumentError) { client.request("GET /x HTTP/1.1\r\n", url("/echo")) }
    end
    assert_equal 0, sent
  end

  def test_what_one_request_sets_does_not_stick_to_its_connection
    client = client(timeout: 30)
    first = client.post(url("/redirect/307/1"), body: "secret",
      headers: { "X-Own" => "1" }, bearer: "token", params: { a: 1 },
      timeout: 2, redirects: 1, raise_for_status: true)
    second = client.get(url("/echo"))
    assert_equal [200, true], [first.status, second.attempts.last.reused?]
    seen = echo(second)
    assert_equal ["GET", "/echo", ""], seen.values_at("method", "path", "body")
    assert_empty seen["headers"].to_h.transform_keys(&:downcase)
      .keys & %w[x-own authorization content-length content-type]
    third = client.get(url("/delay/2300")) # The deadline of the first is past.
    assert_equal [200, true], [third.status, third.attempts.last.reused?]
    assert_equal [307, 404], [client.get(url("/redirect/307/1")).status, client.get(url("/status/404")).status]
  end

  def test_threads_wait_at_the_same_time
    with_own_server do |own|
      client = client()
      statuses = Array.new(8) { Thread.new { client.get(url("/delay/300")).status } }.map(&:value)
      assert_equal [200] * 8, statuses
      # It would be 1 if one waited for the other.
      assert_operator own.ledger["peak_in_flight"], :>, 1
    end
  end

  def test_a_forked_child_has_connections_of_its_own
    client = client()
    parents = JSON.parse(client.get(url("/echo")).body)["connection"]
    reader, writer = IO.pipe
    pid = fork do
      writer.write(JSON.parse(client.get(url("/echo")).body)["connection"])
      exit!(0)
    end
    writer.close
    Process.wait(pid)
    refute_equal parents, reader.read.to_i
    assert_equal parents, JSON.parse(client.get(url("/echo")).body)["connection"]
  end

  def test_a_symbol_is_a_method_in_capitals
    assert_equal %w[GET PATCH get], [:get, :Patch, "get"].map { |method|
      echo(client.request(method, url("/echo")))["method"]
    }
    methods = []
    client.batch { |batch|
      batch.request(:delete, url("/echo")).on_complete { |outcome| methods << echo(outcome.response)["method"] }
    }
    assert_equal ["DELETE"], methods
  end

  def test_names_go_out_as_they_are_written_and_those_that_have_no_case_in_title_case
    names = lambda do |client, headers, **others|
      JSON.parse(client.post(url("/echo"), headers: headers, body: "abc", **others).body)["headers"]
        .map(&:first) - %w[Host Accept]
    end
    expected = %w[User-Agent Accept-Encoding X-Mine x-sMALL X-Own-Key Authorization Content-Length]
    given = { "x-sMALL" => "2", x_own_KEY: "3" }
    assert_equal expected, names.call(client(headers: { x_mine: "1" }), given, bearer: "x")
    # These options the engine reads by itself.
    assert_equal expected - ["Authorization"], names.call(client(headers: { x_mine: "1" }), given)
    assert_equal 2, names.call(client(headers: { "X-A" => "1" }), { "x-a" => "2", x_b: nil }).count { |name|
      name =~ /\Ax|-length\z/i
    }
  end

  def test_what_is_wrong_with_a_response_and_does_no_harm_is_a_setting
    sloppy = "HTTP/1.1  200 OK\r\nX Y: 1\r\nX-A : 1\r\nContent-Length: 2\r\n\r\nok"
    Scripted.run({ "/" => sloppy }) do |server|
      error = assert_raises(Hecaton::ProtocolError) { client.get("#{server.url}/") }
      assert_match(/the setting lenient accepts it/, error.message)
      response = client(lenient: true).get("#{server.url}/")
      assert_equal ["ok", "1", 2], [response.body, response.headers["x-a"], response.headers.size]
      assert_raises(ArgumentError) { client(lenient: "yes") }
    end
  end

  def test_names_of_headers_that_are_symbols
    sent =
      echo(client(headers: { x_client_key: "1" }).get(url("/echo"),
        headers: { x_own_key: "2", "X_As_It_Is" => "3" }))["headers"]
        .to_h.transform_keys(&:downcase)
    assert_equal %w[1 2 3], sent.values_at("x-client-key", "x-own-key", "x_as_it_is")
    assert_nil echo(client(headers: { "X-Client" => "1" }).get(url("/echo"), headers: { x_client: nil }))["headers"]
      .to_h.transform_keys(&:downcase)["x-client"]
  end

  def test_nested_forms_are_written_as_rack_reads_them
    {
      { a: { b: 1, c: { d: [2, 3] } } } => "a[b]=1&a[c][d][]=2&a[c][d][]=3", { a: [1, 2] } => "a=1&a=2",
      { a: [{ b: 1 }, { b: 2 }] } => "a[][b]=1&a[][b]=2", { "a b" => { "é" => "&" } } => "a b[é]=%26", { a: {} } => ""
    }.each { |form, body|
      assert_equal body,
        echo(client.post(url("/echo"), form: form))["body"].gsub(/%5B|%5D|\+|%C3%A9/,
          "%5B" => "[", "%5D" => "]", "+" => " ", "%C3%A9" => "é")
    }
  end

  class Stranger; end

  class Known
    def to_json(*) = '{"known":true}'
  end

  def test_json_of_objects_that_know_how_and_of_those_that_do_not
    body = ->(json) { echo(client.post(url("/echo"), json: json))["body"] }
    assert_equal '{"known":true}', body.(Known.new)
    assert_equal '{"a":[{"known":true}]}', body.({ a: [Known.new] })
    assert_equal '["#<it says so>","1..2"]', body.(["#<it says so>", 1..2])
    [Stranger.new, { a: [1, { b: Stranger.new }] }, [Struct.new(:a).new(1)]].each do |json|
      assert_match(/json: an object of class .* has no to_json/, error_of(ArgumentError) { body.(json) }.message)
    end
  end

  # Its to_json has what JSON.generate does not call for.
  def test_json_of_active_support
    program = <<~'RUBY'
      require "active_support"
      require "active_support/json"
      Named = Struct.new(:name)
      print Hecaton::Content.of(nil, { a: Named.new("x") }, nil, nil).first
    RUBY
    said = IO.popen([RbConfig.ruby, "-I#{File.expand_path("../lib", __dir__)}", "-rhecaton", "-e", program],
      err: %i[child out], &:read)
    skip "ActiveSupport is not installed" if said.include?("cannot load such file -- active_support")
    assert_equal '{"a":{"name":"x"}}', said
  end

  def test_a_content_type_of_the_client_or_the_request_goes_first
    typed = client(headers: { "Content-Type" => "a/client" })
    type = ->(client, **options) {
      echo(client.post(url("/echo"), **options))["headers"].to_h.transform_keys(&:downcase)["content-type"]
    }
    assert_equal ["application/json", "a/client", "a/own", "application/json"],
      [type.(client, json: 1), type.(typed, json: 1), type.(typed, json: 1, headers: { content_type: "a/own" }),
       type.(typed, json: 1, headers: { "content-type" => nil })]
  end

  def test_settings_that_are_understood
    assert_equal [500, 3], client(retry: { statuses: [404, 500..599], interval: 0 }).get(url("/status/500")).then { |r|
      [r.status, r.attempts.size]
    }
    assert_equal 3, client(retry: { statuses: 500..599, interval: 0 }).get(url("/status/503")).attempts.size
    [500.., "a".."b", 1.5..2].each { |range|
      assert_match(/retry: statuses/, error_of(ArgumentError) { client(retry: { statuses: [range] }) }.message)
    }
    assert_equal %w[1.1 1.1], [1.1, "1.1"].map { |version| client(http: version).get(url("/echo")).http_version }
    assert_raises(Hecaton::Error) { client(http: 2).get("http://127.0.0.1:1/") }
    assert_match(/http: "4"/, error_of(ArgumentError) { client(http: 4) }.message)
  end

  def test_what_is_not_true_or_false_is_refused
    { verify: "no", decode: :gzip, redirects_to_http: "false", strict_urls: 1, raise_for_status: "no" }
      .each do |name, value|
      assert_match(/\A#{name} is .*: give true or false\z/, error_of(ArgumentError) { client(name => value) }.message)
    end
  end

  def test_close_gives_every_descriptor_back_and_the_client_can_be_used_again
    real_server.ledger
    before = descriptors
    client = client()
    response = client.get(url("/echo")) { |stream| stream.each_chunk(&:itself) }
    client.get_all([url("/r/1")] * 5)
    client.batch { |batch| batch.get(url("/delay/5000")).tap { batch.abort } }
    stats = client.stats
    assert_nil client.close
    assert_operator Dir.children("/proc/self/fd").size, :<=, before, response.inspect # Before any garbage is collected.
    assert_equal [0, 0, stats[:requests]], [client.idle_connections, *client.stats.values_at(:idle, :requests)]
    assert_operator Dir.children("/proc/self/fd").size, :<=, before
    client.close
    assert_equal 200, client.get(url("/echo")).status
    assert_equal stats[:requests] + 1, client.stats[:requests]
    client.close
    assert_operator Dir.children("/proc/self/fd").size, :<=, before
  end

  def test_a_request_in_flight_continues_when_its_client_is_closed
    own = TestServer.new
    own.ledger
    before = descriptors
    client = client()
    waiting = Thread.new { client.get("#{own.url}/delay/500").status }
    wait_until { client.stats[:in_use] == 1 }
    client.close
    assert_equal 200, waiting.value
    waiting = nil
    wait_until { descriptors <= before }
    assert_operator descriptors, :<=, before
    client.batch { |batch|
      batch.get(url("/r/1")).on_complete { client.close }.on_complete { |outcome| assert_predicate outcome, :success? }
    }
  ensure
    own&.stop
  end

  def test_open_closes_at_its_end
    real_server.ledger
    before = descriptors
    stored = nil
    assert_equal(200, Hecaton::Client.open(timeout: 20) { |client| (stored = client).get(url("/echo")).status })
    assert_operator Dir.children("/proc/self/fd").size, :<=, before
    assert_raises(IndexError) {
      Hecaton::Client.open(timeout: 20) { |client| client.get(url("/echo")) && raise(IndexError) }
    }
    assert_operator Dir.children("/proc/self/fd").size, :<=, before
    assert_equal [0, Hecaton::Client], [stored.idle_connections, Hecaton::Client.open(timeout: 20).class]
  end

  # The engine reads the common options by itself. That must give equal results to the way through RequestBuilder.
  def test_options_that_the_engine_reads_mean_the_same
    said = []
    logger = Logger.new(StringIO.new, formatter: ->(_, _, _, message) { said << message && "" })
    requested = [client, client(logger: logger), client(retry: { max: 1, if: ->(_) { false } }),
                 client(bearer: -> { "t" })].map do |each|
      [each.request("POST", url("/echo"), headers: [%w[x-a 1], %w[x-a 2]], body: "body"),
       each.request("POST", url("/echo"), headers: { "x-a" => %w[1 2] }, body: "body")]
    end
    requested.each do |short, long|
      assert_equal [200, long.json.fetch("headers")], [short.status, short.json.fetch("headers")]
    end
    assert_equal 2, said.grep(/\APOST/).size, said.inspect # Both are logged.
    assert_raises(Hecaton::TimeoutError) {
      client.request("GET", url("/delay/2000"), headers: [], body: nil, timeout: 0.05)
    }
    assert_raises(ArgumentError) { client.request("GET", url("/echo"), headers: [], body: nil, timeout: -1) }
    assert_equal 200, client.request("PUT", url("/echo"), headers: [], body: StringIO.new("read"), timeout: 5).status
  end

  def test_what_is_false_or_wrong_is_refused_on_the_short_way_too
    assert_raises(ArgumentError) { client.get(url("/echo"), timeout: false) }
    %i[timeout redirects].each do |name|
      assert_raises(ArgumentError) { client.get(url("/echo"), name => -1) }
    end
    assert_raises(ArgumentError) { client.get(nil) }
    assert_raises(ArgumentError) { client.get(url("/echo"), form: false) }
  end
end
