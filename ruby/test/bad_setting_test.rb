# Whatever is given as a setting or an option: it works, or is an ArgumentError that names it, before anything is sent.
# Not run by `rake sig`, whose checker refuses wrong types by itself.
require "test_helper"
require "openssl"
require "set"

class BadSettingTest < ServerTest
  ODD = [5, -1, 0, 1.5, 2**70, 1e300, Float::NAN, Float::INFINITY, "x", "", "4", "\xFF", "\u{e9}".encode("UTF-16LE"),
         :word, true, false, [], ["x"], [1], [nil], [["a", Object.new]],
         {}, { "a" => 1 }, { a: :b }, { nil => [] }, Object.new, Object, -> { 1 }, 1..2, Time.at(0), BasicObject].freeze
  SETTINGS = Hecaton::Client.instance_method(:initialize).parameters.map(&:last)
  OPTIONS = Hecaton::Settings::OF_REQUESTS - [:body] # What that yields is seen while it is sent.
  LIMITS = %i[concurrency per_origin rate].freeze

  # An error about a setting need not have its very name where it is clear without.
  NAMES = { basic_auth: /basic_auth/, user_agent: /user.agent/,
            base_url: /base.url|URL/i, app_name: /app_name|X-App-Name|user.agent/i,
            app_env: /app_env|X-App-Env/i, headers: /header/i }.freeze

  def test_settings_of_a_client
    each_odd(SETTINGS) { |setting| Hecaton::Client.new(timeout: 5, **setting) }
  end

  def test_settings_of_retry
    each_odd(%i[max methods on statuses interval backoff jitter], /retry/) { |setting| client(retry: setting) }
    assert_match(/retry: max is of class String: give an Integer/, refusal { client(retry: { max: "3" }) })
  end

  def test_options_of_a_request
    client = client()
    sent = 0
    arrived = requests_of do
      each_odd(OPTIONS) { |option| client.post(url("/r/1"), **{ timeout: 5 }.merge(option)).tap { sent += 1 } }
    end
    assert_equal sent, arrived
    strict = { raise_for_status: "false" }
    refused = [-> { client.get(url("/r/1"), **strict) }, -> { client.post(url("/r/1"), body: "", **strict) }, -> {
      client.get(url("/r/1"), **strict) { nil }
    },
               -> { client.batch { |batch| batch.get(url("/r/1"), **strict) } },
               -> { client.batch { |batch| batch.post(url("/r/1"), **strict) } }]
    refused.each { |call| assert_equal "raise_for_status is of class String: give true or false", refusal(&call) }
  end

  def test_options_of_a_batch_and_its_requests
    each_odd(LIMITS) { |limit| client.batch(**limit) { nil } }
    client.batch do |batch|
      each_odd(OPTIONS + [:queue]) { |option| batch.get(url("/r/1"), **option) }
      batch.abort
    end
  end

  def test_what_is_said
    { per_origin: ["4", /\Aper_origin is of class String: give an Integer of at least 0\z/],
      max_idle: [-1, /\Amax_idle is -1: give an Integer of at least 0\z/],
      max_body: [1.5, /\Amax_body is of class Float: give an Integer of at least 0\z/],
      pins: ["x", /\Apins is of class String: give an Array of Strings/],
      resolve: [3, /\Aresolve is of class Integer: give a Hash/],
      headers: [5, /\Aheaders is of class Integer: give a Hash, or an Array of pairs\z/],
      connect_timeout: ["5", /\Aconnect_timeout: "5" is not a time in seconds: give a number of at least 0\z/] }
      .each { |name, (value, message)| assert_match message, refusal { client(name => value) } }
    refute_match(/hush/, refusal { client(client_key: ["hush"]) })
  end

  # Messages that name what was probably meant.
  def test_what_is_suggested
    { -> { client(conect_timeout: 1) } => "unknown keyword: :conect_timeout; did you mean connect_timeout?",
      -> { client.with(redirect: 1) } => "unknown keyword: :redirect; did you mean redirects?",
      -> {
        client.get(url("/r/1"),
          timout: 1)
      } => /\Aunknown keyword: :timout; did you mean timeout\? \(a request has headers, /,
      -> { Hecaton::Client.new(timout: 1) } => "unknown keyword: :timout; did you mean timeout?",
      -> { Hecaton::Client.open(timout: 1) } => "unknown keyword: :timout; did you mean timeout?",
      -> { Hecaton::Client.open } => "missing keyword: :timeout",
      -> { Hecaton::Client.new(headers: {}) } => "missing keyword: :timeout",
      -> {
        Hecaton.get(url("/r/1"),
          timout: 1)
      } => /\Aunknown keyword: :timout; did you mean timeout\? \(a request has/,
      -> { client(open_timeout: 1) } => "unknown keyword: :open_timeout; did you mean connect_timeout?",
      -> { client(url: "http://h") } => "unknown keyword: :url; did you mean base_url?",
      -> { client(retires: 1) } => "unknown keyword: :retires; did you mean retry?",
      -> { client(a: 1, b: 2) } => "unknown keywords: :a, :b",
      -> { client(json: {}) } => "unknown keyword: :json; a request has it, not a client",
      -> { client(query: {}) } => "unknown keyword: :query; did you mean params? A request has it, not a client",
      -> { Hecaton::Client.new("timeout" => 1) } => 'unknown keyword: "timeout"; give it as a Symbol',
      -> {
        client.get(url("/r/1"),
          query: { a: 1 })
      } => /\Aunknown keyword: :query; did you mean params\? \(a request has/,
      -> { client.get(url("/r/1"), open_timeout: 1) } =>
        /\Aunknown keyword: :open_timeout; did you mean connect_timeout\? That is a setting of the client, not of a request: Client.new\(connect_timeout: …\)\z/,
      -> { client.get_all([url("/r/1")], concurency: 3) } =>
        "unknown keyword: :concurency; did you mean concurrency? get_all, all and batch have it, not a request",
      -> { client.get(url("/r/1"), connect_timeout: 1) } =>
        "connect_timeout: is a setting of the client, not of a request: Client.new(connect_timeout: …)",
      -> { client.get(url("/r/1"), { a: 1 }) } =>
        /\Aunknown keyword: :a; a Hash of parameters is params:, one of headers is headers:, and one of data is json: or/,
      -> { client.post(url("/r/1"), "text") } => "the options are of class String: " \
      "give keywords, such as params:, headers:, json:, form: or body:",
      -> { client.batch { |batch| batch.get(url("/r/1"), [1]) } } => /\Athe options are of class Array: give keywords/,
      -> {
        Hecaton.get(url("/r/1"), { a: 1 },
          timeout: 1)
      } => /\Athe options are of class Hash: give keywords, such as params:/,
      -> {
        Hecaton::Client.new({},
          5)
      } => "the settings are of class Hash and Integer: give keywords, such as timeout: and base_url:",
      -> { client.get(url("/r/1"), max_body: 1) } => "max_body: is a setting of the client, " \
      "not of a request: Client.new(max_body: …), or client.with(max_body: …)",
      -> { client.post(url("/r/1"), body: { a: 1 }) } => "body is a Hash: " \
      "send it as JSON with json:, or as a form with form:",
      -> {
        client(base_url: "localhost:3000")
      } => 'base_url "localhost:3000" has no scheme; did you mean "http://localhost:3000"?',
      -> {
        client(base_url: "/v1")
      } => 'base_url "/v1" has no scheme and host: give one such as "https://api.example.org/v1"',
      -> {
        client(base_url: "u:hush@h")
      } => 'base_url has no scheme and host: give one such as "https://api.example.org/v1"',
      -> {
        client(retry: { statuses: ["503"] })
      } => 'retry: statuses has "503": give statuses from 100 to 999 and Ranges of them, such as [429, 500..599]',
      -> { client(app_name: Object.new) } => "app_name is of class Object: give a String or a Symbol",
      -> { client(proxy: 0) } => /\Aproxy: give a URL/ }
      .each { |call, message| assert_operator message, :===, refusal(&call) }
    assert_equal 2, client(retry: { statuses: 503, max: 1, interval: 0 }).get(url("/status/503")).attempts.size
  end

  # As other libraries take them.
  def test_a_body_and_headers_in_place_of_keywords
    u = url("/r/1")
    given = ["text", { "Accept" => "x" }]
    refused = [-> { client.post(u, *given) }, -> { client.request(:post, u, *given) }, -> { Hecaton.post(u, *given) },
               -> { Hecaton.request(:post, u, *given) }, -> { Hecaton::Request.new(:post, u, *given) },
               -> { client.get_all([u], *given) }, -> { client.post_all([u], *given) }, -> { client.all([], *given) },
               -> { client.each_response([u], *given) { flunk } }]
    %i[post request].zip([[u], [:post, u]]) do |name, first|
      refused << -> { client.batch { |batch| batch.public_send(name, *first, *given) } }
    end
    refused.each_with_index do |call, index|
      assert_match(/\Athe options are of class String and Hash: give keywords, .*headers:.*body:/, refusal(&call),
        index)
    end
    assert_equal 200, Hecaton.get(u, nil, timeout: 5).status
  end

  # Values that would never match a method or a status, or that would be cut to another number.
  def test_retries_that_could_not_be
    { { methods: [:gett] } => 'retry: methods has "GETT"; did you mean "GET"?',
      { jitter: 5 } => "retry: jitter: 5 is not a share: give a number from 0 to 1" }
      .each { |settings, message| assert_equal message, refusal { client(retry: settings) } }
    [99, 1000, 0..99, 500..1000, 599..500, 500...500, 500.., [429, nil]].each do |statuses|
      assert_match(/\Aretry: statuses has .*: give statuses from 100 to 999/, refusal {
        client(retry: { statuses: statuses })
      })
    end
    client(retry: { methods: [:propfind, "PURGE"], statuses: [999, 500...503] })
  end

  def test_what_is_no_method_true_or_limit
    [nil, -1, true, [:get]].each do |method|
      assert_match(/\Athe method is #{Regexp.escape(method.inspect)}: give/, refusal {
                                                                               client.request(method, url("/r/1"))
                                                                             })
    end
    assert_match(/\Araise_on_failure is of class String: give true/, refusal {
      client.batch(raise_on_failure: "false") { nil }
    })
    client.batch { |batch| assert_match(/is nil: use an Integer/, refusal { batch.max_concurrency = nil }) }
    [2**70, 1e300, Float::INFINITY].each do |time|
      refused = [-> { Hecaton.timeout = time }, -> { client(connect_timeout: time) }, -> { client(timeout: time) }]
      refused.each { |call| assert_match(/timeout: .* is not a time in seconds: give a number below/, refusal(&call)) }
    end
    assert_equal "params is of class FalseClass: give a Hash, or an Array of pairs", refusal {
      client.get(url("/r/1"), params: false)
    }
    assert_equal "unix_socket is a String with bytes that are not UTF-8: give a String in UTF-8", refusal {
      client(unix_socket: "\xFF")
    }
    assert_match(/\Auser_agent is of class FalseClass/, refusal { client(user_agent: false) })
  end

  # UTF-16 holds no ASCII that a pattern could find.
  def test_a_url_in_another_encoding
    wide = url("/r/1").encode("UTF-16LE")
    assert_equal 200, client.get(wide, params: { a: 1 }).status
    assert_equal 200, client(base_url: url("/r").encode("UTF-16LE")).get("1").status
  end

  def test_no_message_shows_a_secret
    key = OpenSSL::PKey::EC.generate("prime256v1").private_to_pem.sub(/\A.*\n/, "") # Its BEGIN line is lost.
    secret = key[0, 40]
    [-> { client(client_key: key, client_cert: key) }, -> {
      client(client_key: key, client_cert: key, client_key_password: "x")
    },
     -> {
       client(client_key: key.delete("\n").delete_suffix("-----END PRIVATE KEY-----"), client_cert: "/no/such/file")
     },
     -> { client(client_cert: key) }, -> { client(bearer: -> { { token: secret } }).get(url("/r/1")) },
     -> { client.get(url("/r/1"), bearer: [secret]) }, -> { client.get(url("/r/1"), bearer: { token: secret }) },
     -> { client.get("ht!tp://u:#{secret}@h/") }].each_with_index do |call, index|
      error = assert_raises(ArgumentError, Hecaton::Error, index.to_s, &call)
      refute_includes error.full_message, secret, index.to_s
    end
  end

  def test_what_is_no_list_is_refused_in_a_sentence
    lists = %i[get_all head_all post_all put_all patch_all delete_all all each_response]
    lists.product([nil, 5, "http://127.0.0.1/"]).each do |method, given|
      error = error_of(ArgumentError) { client.public_send(method, given) { flunk } }
      assert_match(/#{method}: .*#{Regexp.escape(given.inspect)}.*give an Array, or an object with each/, error.message)
    end
    assert_match(/each_response: .*nil/, error_of(ArgumentError) { client.each_response(nil) }.message)
    assert_match(/get_all: .*nil/, error_of(ArgumentError) { Hecaton.get_all(nil, timeout: 1) }.message)
  end

  def test_what_no_response_can_have_is_refused_in_a_sentence
    assert_match(/status is "200": give an Integer/, error_of(ArgumentError) {
      Hecaton::Response.new(status: "200")
    }.message)
    assert_match(/body is of class Hash: give a String/, error_of(ArgumentError) {
      Hecaton::Response.new(status: 200, body: { a: 1 })
    }.message)
    assert_match(/headers is of class Integer/, error_of(ArgumentError) {
      Hecaton::Response.new(status: 200, headers: 5)
    }.message)
  end

  # Values that would be dropped in silence, or sent as their inspect.
  def test_what_cannot_be_sent_as_it_is_meant_is_refused
    io = StringIO.new("x")
    { headers: [%w[a b], [%w[a b c]], [["a"]], [:a, 1], { "X" => { a: 1 } }, { "X" => [[1]] }, { "X" => io }],
      params: [%w[a b], [["a", 1], ["b"]], { a: Set[1] }, { a: [[1..2, io]] }, { a: io }, { a: [1].each }],
      form: [%w[a b], [["a"]], { a: io }, { a: Set[1] }, { a: [io] }, { a: { b: 1..2, c: [1].lazy } }],
      multipart: [%w[a b], { a: [[1]] }, { a: Set[1] }, { a: { filename: "x" } },
                  { a: { content: %w[x].each } }] }.each do |option, values|
      values.each do |value|
        assert_match(/\A#{option}\b.*: give /, refusal { client.post(url("/echo"), option => value) }, value.inspect)
      end
    end
    assert_match(/\Aheaders\b.*entry 1 .*: give /, refusal { client(headers: [["a", "1"], "secret"]) })
    refute_match(/secret/, refusal { client(headers: [["a", "1"], "secret"]) })
    assert_match(/\Aheaders\b/, refusal { Hecaton::Response.new(status: 200, headers: ["a"]) })
  end

  # Settings that make the client take the long way.
  def test_a_request_of_a_batch_without_a_method_is_refused
    [{}, { retry: { if: ->(_) { false } } }, { bearer: -> { "token" } }].each do |settings|
      client(**settings).batch { |batch| assert_raises(ArgumentError) { batch.request(nil, url("/r/1")) } }
    end
  end

  private

  def refusal(&block) = assert_raises(ArgumentError, &block).message

  def each_odd(names, message = nil)
    names.product(ODD) do |name, value|
      yield({ name => value })
    rescue ArgumentError => error
      assert_match message || NAMES.fetch(name, /#{name}/),
        error.message, "#{name}: #{value.class} #{value.inspect rescue nil}"
    rescue Hecaton::Error, JSON::GeneratorError
      nil # It could be sent, and failed.
    rescue StandardError => error
      flunk "#{name}: #{value.class} #{value.inspect rescue nil}: " \
        "#{error.class}: #{error.message} #{error.backtrace.first(4)}"
    end
  end
end
