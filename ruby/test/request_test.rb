# Requests as values: what verbs, Client#request, Batch#add and all take, and what `with` changes.
require "test_helper"
require "scripted"

class RequestTest < ServerTest
  def body_of(response) = JSON.parse(response.body).fetch("body")
  def post(**options) = Hecaton::Request.new(:post, url("/echo"), **options)

  def test_a_client_and_a_batch_send_it_as_often_as_one_likes
    request = post(json: { "a" => 1 }, headers: { "x-a" => "b" })
    2.times { assert_equal '{"a":1}', body_of(client.request(request)) }
    outcomes = []
    client.batch { |batch|
      2.times { batch.add(request).on_complete { |outcome| outcomes << body_of(outcome.response) } }
    }
    assert_equal ['{"a":1}'] * 2, outcomes
    assert_equal ['{"a":1}'] * 2, client.all([request, [:post, url("/echo"), { json: { "a" => 1 } }]]).map { |outcome|
      body_of(outcome.response)
    }
    assert_equal '{"a":1}', body_of(Hecaton.request(request.with(timeout: 5)))
    assert_equal '{"a":1}', (client.request(request) { |stream| JSON.parse(stream.read).fetch("body") })
  end

  def test_with_returns_a_copy
    request = post(json: { "a" => 1 }, headers: { "X-A" => "b" })
    changed = request.with(http_method: :put, headers: { "x-a" => "c", "x-b" => "d" }, timeout: 2)
    assert_equal ["POST", "b", nil, nil],
      [request.http_method, request.headers["x-a"], request.headers["x-b"], request[:timeout]]
    assert_equal ["PUT", "c", "d", 2],
      [changed.http_method, changed.headers["x-a"], changed.headers["x-b"], changed[:timeout]]
    assert_equal [request.body, { timeout: 2 }], [changed.body, changed.options]
    refute_equal request, changed
    assert_equal request, post(json: { "a" => 1 }, headers: { "X-A" => "b" })
    assert_nil request.with(headers: { "x-a" => nil }).headers["x-a"]
    twice = Hecaton::Request.new(:get, "http://host/").with(headers: { "x-a" => "a" }).with(headers: { "x-b" => "b" })
    assert_equal({ "x-a" => "a", "x-b" => "b" }, twice.headers.to_h)
  end

  def test_one_content_replaces_another_and_a_body_keeps_the_type
    request = post(json: { "a" => 1 })
    assert_equal ["b=2", {}], [request.with(form: { b: 2 }).body, request.with(form: { b: 2 }).headers.to_h]
    coded = request.with(body: "coded", headers: { "content-encoding" => "x" })
    assert_equal ["coded", { "content-encoding" => "x", "content-type" => "application/json" }],
      [coded.body, coded.headers.to_h]
    Scripted.run("/" => Scripted.response(200)) do |server|
      client.request(coded.with(url: "#{server.url}/"))
      assert_match(/^content-type: application\/json\r$/i, server.requests.first)
    end
  end

  def test_what_was_given_may_change_afterwards
    text = +"http://host/"
    options = { headers: { "x-a" => +"b" } }
    request = Hecaton::Request.new(:get, text, **options)
    text << "elsewhere"
    options[:timeout] = 1
    options[:headers]["x-a"] << "c"
    assert_equal ["http://host/", nil, "http://host:80", "b"],
      [request.url, request[:timeout], request.origin, request.headers["x-a"]]
  end

  def test_what_values_hold_may_change_afterwards
    { headers: { "x" => ["a"] }, params: { x: ["a"] }, form: { x: "a" }, json: [{ x: ["a"] }], body: "a" }
      .each do |name, value|
      value = Marshal.load(Marshal.dump(value)) # Not frozen.
      requests = [Hecaton::Request.new(:post, "http://host/", name => value),
                  Hecaton::Request.new(:post, "http://host/").with(name => value)]
      expected = requests.map { |request| Marshal.dump(request.given[name]) }
      value.respond_to?(:merge!) ? value.merge!(x: "b") : value << "b"
      assert_equal expected, requests.map { |request| Marshal.dump(request.given[name]) }, name
    end
  end

  def test_unknown_options_are_named
    [-> { client.get(url("/r/1"), retires: 1) }, -> { Hecaton::Request.new(:get, "http://host/", retires: 1) },
     -> { post.with(retires: 1) }, -> { client.get(url("/r/1"), queue: :front) },
     -> { client.batch { |batch| batch.get(url("/r/1"), retires: 1) } }].each do |wrong|
      assert_match(/unknown keyword: :(retires|queue)/, assert_raises(ArgumentError, &wrong).message)
    end
    assert_match(/with/, assert_raises(ArgumentError) { client.request(post, url("/")) }.message)
  end

  # A Request and what is made of it would cost such a request a quarter of its time.
  def test_no_request_is_made_that_nobody_sees
    options = [nil, { headers: nil }, { headers: {} }, { headers: { "x-a" => "b" } },
               { timeout: 3 }, { headers: { "x-a" => "b" }, timeout: 3 },
               { params: { a: 1 } }, { json: { a: 1 } }, { form: { a: 1 } },
               { multipart: { a: "1" } }, { body: "x" }, { bearer: "abc" },
               { basic_auth: %w[u p] }, { redirects: 1 }, { retry: false }, { raise_for_status: true }]
    made = requests_made do
      options.each do |given|
        client.post(url("/r/1"), *[given].compact)
        client.request(:get, url("/r/1"), *[given].compact)
        client.batch { |batch| batch.request("GET", url("/r/1"), *[given].compact) }
      end
    end
    assert_equal 0, made
    assert_operator requests_made { client.get(url("/r/1"), bearer: -> { "abc" }) },
      :>, 0, "one that a token is put into is a Request"
  end

  # The limits are a little above what Ruby 3.1 makes.
  MOST_OBJECTS = {
    { headers: { "x-a" => "b" } } => 4, { timeout: 3 } => 3, { body: "x" } => 2, { raise_for_status: true } => 3,
    { params: { a: 1 } } => 17, { json: { a: 1 } } => 13, { form: { a: 1 } } => 23, { bearer: "abc" } => 10,
    { basic_auth: %w[u p] } => 18, { redirects: 1 } => 11, { retry: false } => 11
  }.freeze

  # An option that costs more would otherwise be seen in a benchmark alone.
  def test_a_request_of_a_batch_makes_few_objects_until_it_is_queued
    client.batch do |batch|
      MOST_OBJECTS.each do |given, most|
        batch.post("http://127.0.0.1:1/", given) # Loads what it needs.
        made = objects_made { 100.times { batch.post("http://127.0.0.1:1/", given) } }
        assert_operator made, :<, 100 * (most + 1), given.inspect
      end
      batch.abort
    end
  end

  # The response, its body, its record, and the Array that the extension returns.
  def test_a_single_get_makes_few_objects
    (sender = client).get(address = url("/echo"))
    made = objects_made { 100.times { sender.get(address) } }
    assert_operator made, :<, 100 * 5
  end

  def objects_made
    without_collection do
      before = GC.stat(:total_allocated_objects)
      yield
      GC.stat(:total_allocated_objects) - before
    end
  end

  def requests_made
    GC.start
    without_collection do
      before = ObjectSpace.each_object(Hecaton::Request).count
      yield
      ObjectSpace.each_object(Hecaton::Request).count - before
    end
  end

  def without_collection
    GC.disable
    yield
  ensure
    GC.enable
  end

  def test_it_shows_no_secrets
    request = Hecaton::Request.new(:get, "http://user:secret@host/path?token=secret",
      headers: { "x" => "secret" }, body: "secret")
    assert_equal "#<Hecaton::Request GET http://host/path>", request.inspect
  end
end
