# The results of keywords and defaults: parameters, base URL, default headers, credentials, identity.
require "test_helper"

class PreparationTest < ServerTest
  def seen(client, path = "/echo", **options)
    JSON.parse(client.get(path.start_with?("/") ? url(path) : path, **options).body)
  end

  def fields(client, *arguments, **options)
    seen(client, *arguments, **options)["headers"].to_h.transform_keys(&:downcase)
  end

  def test_params_are_encoded_behind_the_query_of_the_url
    path = ->(params, from = "/echo") { seen(client, from, params: params)["path"] }
    assert_equal "/echo?a=1&b=x%20y%26%3D%2B%2F%3F%23", path.({ a: 1, "b" => "x y&=+/?#" })
    assert_equal "/echo?q=1&a=%C3%A9~-._", path.({ a: "é~-._" }, "/echo?q=1#fragment")
    assert_equal "/echo?a=1", path.({ a: 1 }, "/echo?")
    assert_equal "/echo?id=1&id=2&id%5B%5D=3", path.([[:id, [1, 2]], ["id[]", 3], [:none, nil]])
    assert_equal "/echo?a=%C3%A9", path.({ a: "é".encode("ISO-8859-1") })
    assert_equal "/echo?a=%FF", path.({ a: "\xFF".b })
    assert_equal "/echo", path.({})
  end

  def test_nested_params_are_named_as_those_of_forms
    { { a: { b: 1, c: [{ d: "é" }, { d: nil }] } } => "a[b]=1&a[c][][d]=%C3%A9",
      { a: [1, [2]] } => "a[]=1&a[][]=2", { a: {} } => "" }
      .each do |params, query|
        assert_equal "/echo#{"?" unless query.empty?}#{query}",
          seen(client, params: params)["path"].gsub("%5B", "[").gsub("%5D", "]")
      end
    assert_match(/params: the value/, error_of(ArgumentError) {
      client.get(url("/echo"), params: { a: { b: StringIO.new } })
    }.message)
  end

  def test_any_text_comes_back_from_the_query_as_it_was
    random = Random.new(8594)
    50.times do
      name, value = Array.new(2) { Array.new(random.rand(1..9)) { random.rand(1..0xd7ff) }.pack("U*") }
      query = Hecaton::RequestBuilder.query({ name => value })
      assert_match(/\A[A-Za-z0-9\-._~%=]+\z/, query)
      assert_equal [[name, value]], URI.decode_www_form(query)
    end
  end

  def test_relative_urls_are_read_beside_the_base
    client = client(base_url: url("/r/"))
    assert_equal 200, client.get("7").status
    assert_equal "/echo?a=1", JSON.parse(client.get("../echo", params: { a: 1 }).body)["path"]
    assert_equal "/echo", JSON.parse(client.get("/echo").body)["path"]
    other = TestServer.new
    assert_equal 200, client.get("#{other.url}/r/1").status
    assert_equal 1, other.stop["items"]
    assert_match(/has no scheme and host/, error_of(ArgumentError) { client(base_url: "/v1") }.message)
  end

  def test_a_base_url_ends_in_a_slash_whether_it_is_written_or_not
    { "http://host" => "http://host/", "http://host/v1" => "http://host/v1/", "http://host/v1/" => "http://host/v1/",
      "http://host/v1?a=b/c#d" => "http://host/v1/?a=b/c#d",
      "http://host/v1/?a=b" => "http://host/v1/?a=b" }.each do |given, base|
      assert_equal base, Hecaton::Client.base(given)
    end
    based = client(base_url: url("/cookies"))
    requested = { "set?a=1" => "/cookies/set?a=1", "/echo" => "/echo",
                  "./set?b=1" => "/cookies/set?b=1", "../echo" => "/echo", "?c" => "/cookies/?c" }
    requested.each { |given, path| assert_equal url(path), based.get(given).url, given }
    assert_equal [url("/cookies/set?a=1")], based.get_all(["set?a=1"]).map(&:url)
  end

  def test_default_headers_and_what_a_request_says_of_them
    client = client(headers: { "X-One" => "1", "x-two" => %w[a b] })
    sent = seen(client)["headers"].select { |name, _| name.match?(/\Ax-/i) }
    assert_equal [%w[X-One 1], %w[x-two a], %w[x-two b]], sent
    own = fields(client, headers: { "X-ONE" => "own", "X-Two" => nil })
    assert_equal ["own", nil], own.values_at("x-one", "x-two")
  end

  def test_credentials_of_client_and_request
    assert_equal "Basic #{["Aladdin:open sesame"].pack("m0")}",
      fields(client(basic_auth: ["Aladdin", "open sesame"]))["authorization"]
    client = client(bearer: "abc|1")
    assert_equal "Bearer abc|1", fields(client)["authorization"]
    assert_equal "Bearer other", fields(client, bearer: "other")["authorization"]
    assert_equal "Basic dTrDqQ==", fields(client, basic_auth: %w[u é])["authorization"]
    assert_nil fields(client, bearer: false)["authorization"]
    assert_nil fields(client, headers: { "Authorization" => nil })["authorization"]
    assert_equal "mine", fields(client, headers: { "authorization" => "mine" }, bearer: "x")["authorization"]
    assert_raises(ArgumentError) { client(bearer: "a", basic_auth: %w[a b]) }
    assert_raises(ArgumentError) { client(basic_auth: ["a:b", "c"]) }
  end

  def test_credentials_of_a_client_with_a_base_stay_there
    home = { base_url: url("/"), headers: { "Cookie" => "a=b", "X-Key" => "1" }, bearer: "secret" }
    away = real_server.url.sub("127.0.0.1", "localhost")
    [fields(client(**home)), fields(client(**home), "echo")].each do |sent|
      assert_equal ["Bearer secret", "a=b", "1"], sent.values_at("authorization", "cookie", "x-key")
    end
    ["#{away}/echo", "//#{away.delete_prefix("http://")}/echo"].each do |elsewhere|
      sent = JSON.parse(client(**home).get(elsewhere).body)["headers"].to_h.transform_keys(&:downcase)
      assert_equal [nil, nil, nil], sent.values_at("authorization", "cookie", "x-key"), elsewhere
    end
    assert_equal "Bearer own", fields(client(**home), "#{away}/echo", bearer: "own")["authorization"]
  end

  def test_credentials_are_not_shown
    client = client(bearer: "secret", headers: { "X-Key" => "secret" })
    client.batch { |batch| refute_match(/secret/, batch.inspect + client.inspect) }
  end

  def test_identity
    sent = fields(client(app_name: "billing", app_env: :production))
    assert_equal %w[billing billing production], sent.values_at("user-agent", "x-app-name", "x-app-env")
    sent = fields(client(app_name: "billing", user_agent: "mine"))
    assert_equal ["mine", "billing", nil], sent.values_at("user-agent", "x-app-name", "x-app-env")
  end

  def test_a_batch_takes_the_same_keywords
    responses = []
    client(base_url: url("/"), bearer: "token").batch do |batch|
      batch.get("echo", params: { a: 1 }).on_complete { |outcome| responses << JSON.parse(outcome.response.body) }
      batch.get("echo", bearer: false).on_complete { |outcome| responses << JSON.parse(outcome.response.body) }
    end
    first, second = responses.sort_by { |response| response["path"] }.reverse
    assert_equal ["/echo?a=1", "Bearer token"],
      [first["path"], first["headers"].to_h.transform_keys(&:downcase)["authorization"]]
    assert_nil second["headers"].to_h.transform_keys(&:downcase)["authorization"]
  end

  INJECTIONS = {
    method: ->(client, bad) { client.request("GET#{bad}", "echo") },
    path: ->(client, bad) { client.get("/echo#{bad}x") },
    host: ->(client, bad) { client.get("http://127.0.0.1#{bad}/echo") },
    host_header: ->(client, bad) { client.get("echo", headers: { "Host" => "a#{bad}b" }) },
    header_name: ->(client, bad) { client.get("echo", headers: { "x#{bad}y" => "1" }) },
    header_value: ->(client, bad) { client.get("echo", headers: { "x" => "1#{bad}y: 2" }) },
    cookie: ->(client, bad) { client.get("echo", headers: { "Cookie" => "a=b#{bad}" }) },
    basic_auth: ->(client, bad) { client.get("echo", basic_auth: ["user", "pass#{bad}word"]) },
    basic_auth_user: ->(client, bad) { client.get("echo", basic_auth: ["us#{bad}er", "password"]) },
    bearer: ->(client, bad) { client.get("echo", bearer: "tok#{bad}en") },
    default_header: ->(client, bad) { client.class.new(timeout: 5, headers: { "x" => "1#{bad}" }).get(client.base) },
    base_url: ->(client, bad) { client.class.new(timeout: 5, base_url: "#{client.base}#{bad}").get("echo") },
    app_name: ->(client, bad) { client.class.new(timeout: 5, app_name: "app#{bad}").get(client.base) },
    app_env: ->(client, bad) { client.class.new(timeout: 5, app_env: "env#{bad}").get(client.base) }
  }.freeze

  INJECTIONS.each do |part, attempt|
    define_method("test_no_injection_through_#{part}") do
      # Its own: what earlier tests gave up may still arrive at the one that all share.
      own = TestServer.new
      begin
        base = "#{own.url}/echo"
        client = client(base_url: base)
        client.define_singleton_method(:base) { base }
        ["\r\n", "\r", "\n", "\0"].each { |bad|
          assert_raises(ArgumentError, bad.inspect) { attempt.call(client, bad) }
        }
      ensure
        ledger = own.stop
      end
      assert_equal [0, 0, 0], ledger.values_at("requests", "aborted", "connections")
    end
  end

  def test_what_is_given_as_a_parameter_stays_one
    seen = seen(client, params: { "a\r\nx: 1" => "b\r\n\r\n\0" })
    assert_equal "/echo?a%0D%0Ax%3A%201=b%0D%0A%0D%0A%00", seen["path"]
  end
end
