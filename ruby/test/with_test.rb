# Client#with: other settings for requests, on the same connections.
require "test_helper"
require "scripted"

class WithTest < ServerTest
  def sent(client, **options)
    JSON.parse(client.get(url("/echo"), **options).body)["headers"].to_h.transform_keys(&:downcase)
  end

  def test_connections_limits_and_counts_are_shared
    own = TestServer.new
    base = client(per_origin: 1)
    others = [base.with(timeout: 3), base.with(headers: { "X-A" => 1 }).with(redirects: 2)]
    [base, *others].each { |each| assert_equal 200, each.get("#{own.url}/r/1").status }
    assert_equal [3, 1, 2], others.last.stats.values_at(:requests, :opened, :reused)
    assert_equal base.stats, others.first.stats
    assert_equal 1, own.ledger["connections"] - 1, "one is that of this request"
  ensure
    own&.stop
  end

  def test_the_parent_stays_as_it_is
    base = client(headers: { "X-A" => "1" }, raise_for_status: true)
    other = base.with(headers: { "x-a" => "2", x_b: "3" }, raise_for_status: false, user_agent: "other/1")
    assert_equal %w[2 3 other/1], sent(other).values_at("x-a", "x-b", "user-agent")
    assert_equal ["1", nil], sent(base).values_at("x-a", "x-b")
    assert_equal 404, other.get(url("/status/404")).status
    error_of(Hecaton::StatusError) { base.get(url("/status/404")) }
    assert_instance_of Hecaton::Client, other
  end

  def test_headers_are_added_and_nil_leaves_out
    base = client(headers: [["X-A", "1"], ["X-B", "2"]], app_name: "app")
    assert_equal [nil, "2", "app"], sent(base.with(headers: { "x-a" => nil })).values_at("x-a", "x-b", "x-app-name")
    assert_equal [nil, nil], sent(base.with(headers: nil)).values_at("x-a", "x-b")
  end

  def test_one_kind_of_credentials_replaces_the_other
    by_bearer = client(bearer: "old")
    assert_equal "Basic YTpi", sent(by_bearer.with(basic_auth: %w[a b]))["authorization"]
    assert_nil sent(by_bearer.with(bearer: nil))["authorization"]
    by_header = client(headers: { "Authorization" => "Other x" })
    assert_equal "Bearer new", sent(by_header.with(bearer: "new"))["authorization"]
    assert_equal "Other x", sent(by_header.with(timeout: 1))["authorization"]
    assert_nil sent(by_bearer.with(digest_auth: %w[a b]))["authorization"]
  end

  def test_nil_is_the_default
    base = client(retry: { statuses: [503], interval: 0.001 }, redirects: 3, max_body: 1)
    assert_equal [3, 1], [base, base.with(retry: nil)].map { |each|
      each.get(url("/status/503"), raise_for_status: false).attempts.size
    }
  rescue Hecaton::BodyError
    assert_equal 200, base.with(max_body: nil).get(url("/r/1")).status
  end

  def test_a_base_url_of_its_own
    api = client(timeout: 5).with(base_url: "#{real_server.url}/status/")
    assert_equal 404, api.get("404").status
    assert_equal 503, api.with(timeout: 4).get_all(["503"]).first.status
    error_of(ArgumentError) { api.with(base_url: nil).get("404") }
  end

  def test_a_jar_is_shared_unless_another_is_given
    setting = Scripted.response(200, "Set-Cookie" => "a=b")
    Scripted.run("/" => setting) do |server|
      base = client(cookies: true)
      same, own, none = base.with(timeout: 1), base.with(cookies: true), base.with(cookies: false)
      base.get("#{server.url}/")
      assert_same base.cookies, same.cookies
      [same, own, none].each { |each| each.get("#{server.url}/") }
      said = server.requests.map { |request| request[/^cookie: (.*)\r/i, 1] }
      assert_equal [nil, "a=b", nil, nil], said
    end
  end

  def test_settings_of_connections_are_refused_by_name
    base = client(verify: false)
    error = error_of(ArgumentError) { base.with(verify: true, timeout: 1, per_origin: 3) }
    assert_match(/\Averify, per_origin: a setting of connections/, error.message)
    error_of(ArgumentError) { base.with(unheard_of: 1) }
    assert_match(/timeout is nil/, error_of(ArgumentError) { base.with(timeout: nil) }.message)
    error_of(ArgumentError) { base.with(retry: "once") }
  end

  # Whatever the table says of each, Ruby refuses those of connections, and the engine knows the same ones.
  def test_every_setting_is_of_requests_or_of_connections
    base = client
    refused = Hecaton::Settings::NAMES.select { |name|
      base.with(name => nil).nil? rescue error_message_of_connections?($!)
    }
    assert_equal Hecaton::Settings::OF_CONNECTIONS, refused
  end

  def error_message_of_connections?(error) = error.message.include?("a setting of connections")

  def test_closing_either_closes_the_connections_and_ends_neither
    base = client
    other = base.with(timeout: 3)
    base.get(url("/r/1"))
    assert_equal [1, 1], [base, other].map(&:idle_connections)
    assert_nil other.close
    assert_equal [0, 0], [base, other].map(&:idle_connections)
    [base, other].each { |each| assert_equal 200, each.get(url("/r/1")).status }
    base.close
    assert_equal 200, other.get(url("/r/1")).status
    before = descriptors
    base.close
    assert_operator descriptors, :<, before
  end

  def test_the_parent_may_go_and_so_may_be_forked
    other = client.with(headers: { "X-A" => "1" }, cookies: true)
    GC.start
    assert_equal "1", sent(other)["x-a"]
    child = fork { exit!(sent(other)["x-a"] == "1") }
    Process.wait(child)
    assert_predicate $?, :success?
    assert_equal "1", sent(other)["x-a"]
  end

  def test_everything_works_on_a_derived_client
    other = client.with(max_body: 1 << 20, concurrency: 2)
    other.batch do |batch|
      assert_equal 2, batch.max_concurrency
      batch.get(url("/r/1")).on_complete { |outcome| assert_equal 200, outcome.status }
    end
    assert_equal(200, other.get(url("/r/1")) { |stream| stream.each_chunk.to_a && stream.status })
    assert_equal 3, other.get_all([url("/r/1")] * 3).size
    json = other.post(url("/echo"), body: StringIO.new("abc"))
    assert_equal "abc", JSON.parse(json.body)["body"]
  end
end
