# Stubs of the gem's own, without any other library: their conditions, their responses, and their counts.
require "test_helper"
require "hecaton/testing/minitest"
require "scripted"
require "stringio"

class StubTest < Minitest::Test
  SITE = "http://api.test".freeze

  def client(**options) = Hecaton::Client.new(timeout: 5, **options)
  def get(path = "/", **options) = client.get(SITE + path, **options)
  def status(url) = client.get(url).status

  # Whether a stub of these conditions matches the request.
  def matches?(*conditions, verb: :get, to: "#{SITE}/a", client: client(), **more)
    request = more.delete(:request) || {}
    stub = Hecaton.stub(*conditions, **more)
    client.public_send(verb, to, **request)
    stub.count == 1
  rescue Hecaton::Testing::UnmatchedRequest
    false
  ensure
    Hecaton::Testing.reset
  end

  def test_percent_encoding_is_compared_by_what_it_means
    assert matches?(:get, "#{SITE}/%c3%a9", to: "#{SITE}/%C3%A9") # RFC 3986 §6.2.2.1
    assert matches?(:get, "#{SITE}/%C3%A9", to: "#{SITE}/%c3%a9")
    assert matches?(:get, "#{SITE}/é", to: "#{SITE}/%c3%a9")
    assert matches?(:get, "#{SITE}/%7Eada", to: "#{SITE}/~ada") # §6.2.2.2
    refute matches?(:get, "#{SITE}/a%2fb", to: "#{SITE}/a/b")
    refute matches?(:get, "#{SITE}/%25c3", to: "#{SITE}/%C3")
  end

  def test_what_no_request_could_match_is_refused
    { { body: { a: 1 } } => /body of a stub is of class Hash.*give json or form/,
      { body: [1] } => /class Array/, { json: /x/ } => /json of a stub is of class Regexp.*body/,
      { json: ->(_) { true } } => /class Proc/, { form: "a=1" } => /form is of class String/,
      { form: { a: StringIO.new } } => /form: the value of :a is of class StringIO/,
      { query: { a: { b: 1 } } } => /query: the value of :a is nested, of class Hash/,
      { query: ["a"] } => /query: entry 0 is not a pair/,
      { headers: ["a"] } => /headers: entry 0 is not a pair/ }.each do |conditions, message|
      assert_match message, assert_raises(ArgumentError) { Hecaton.stub(:post, SITE, **conditions) }.message
    end
    assert_empty Hecaton::Testing.stubs
    assert_equal [201, [1], {}], Hecaton::Testing.response(status: 201, json: [1], headers: nil).then { |made|
      [made.status, made.json, made.headers.to_h.except("content-type")]
    }
  end

  def test_responses
    response = Hecaton::Response.new(status: 201, headers: { "a" => "b" }, body: "whole")
    replies = {
      response => [201, "whole"], { status: 404, body: "no" } => [404, "no"],
      { json: { a: [1] } } => [200, '{"a":[1]}'], 503 => [503, ""],
      "text" => [200, "text"], nil => [200, ""],
      ->(request) { { body: request.url } } => [200, "#{SITE}/"], ->(_) { 204 } => [204, ""]
    }
    replies.each do |reply, expected|
      Hecaton.stub(:get, "#{SITE}/").returns(reply)
      got = get
      assert_equal expected, [got.status, got.body], reply.inspect
    end
    assert_equal ["application/json", Encoding::UTF_8], Hecaton.stub(:get).returns(json: "é").then {
      [get.headers["content-type"], get.body.encoding]
    }
    assert_equal 200, Hecaton.stub(:put, SITE) && client.put(SITE).status
    Hecaton.stub(:get) { |request| { status: 200, body: request.params.inspect } }
    assert_equal '[["a", "1"]]', get(params: { a: 1 }).body
    Hecaton.stub(:get) { :nonsense }
    assert_match(/a stub returns Symbol/, assert_raises(TypeError) { get }.message)
    Hecaton.stub(:get).returns(Integer)
    assert_match(/a stub returns Integer/, assert_raises(TypeError) { get }.message)
  end

  def test_failures_are_outcomes
    { Hecaton::TimeoutError => [Hecaton::TimeoutError, :total, true],
      Hecaton::ConnectError => [Hecaton::ConnectError, :connect, false],
      Hecaton::ConnectError.new("mine", phase: :connect) => [Hecaton::ConnectError, :connect, false],
      Errno::ECONNREFUSED => [Hecaton::ConnectError, :connect, false],
      Errno::ECONNRESET.new("x") => [Hecaton::ProtocolError, :first_byte, true],
      SocketError => [Hecaton::ResolveError, :resolve, false],
      ->(_) { raise Hecaton::TLSError.new("mine", phase: :tls) } => [Hecaton::TLSError,
                                                                     :tls, false] }.each do |reply, facts|
      Hecaton.stub(:any).returns(reply)
      errors = [assert_raises(Hecaton::Error) { get },
                client.get_all(["#{SITE}/"]).first, assert_raises(Hecaton::Error) { get { flunk } }]
      errors.each { |error| assert_equal facts, [error.class, error.phase, error.sent?], reply.inspect }
      assert_equal reply.is_a?(Errno::ECONNRESET) ? %i[resent failed] : %i[failed], errors.first.attempts.map(&:ending)
    end
    Hecaton.stub(:get).returns(KeyError)
    assert_raises(KeyError) { get }
    Hecaton.stub(:get).returns(Hecaton::StatusError)
    assert_match(/give one of that status/, assert_raises(ArgumentError) { get }.message)
    Hecaton.stub(:get).returns(500)
    assert_raises(Hecaton::StatusError) { get(raise_for_status: true) }
  end

  def test_responses_in_turn_and_counts
    stub = Hecaton.stub(:get).returns(503, Hecaton::TimeoutError, "third")
    assert_equal 503, get("/1").status
    assert_raises(Hecaton::TimeoutError) { get("/2") }
    assert_equal %w[third third], [get("/3").body, get("/4").body]
    assert_equal [4, %w[/1 /2 /3 /4]], [stub.count, stub.requests.map { |request| request.url.delete_prefix(SITE) }]
    assert_equal ["GET", "hecaton/#{Hecaton::VERSION}", nil],
      [stub.requests[0].http_method, stub.requests[0].headers[:user_agent], stub.requests[0].body]
    assert_equal 4, Hecaton::Testing.requests.size
    assert_raises(ArgumentError) { stub.returns }
    retried = Hecaton.stub(:get).returns(503, 503, "in the end")
    assert_equal ["in the end", 3, 3], client(retry: { statuses: [503] }).get("#{SITE}/").then { |got|
      [got.body, got.attempts.size, retried.count]
    }
  end

  def test_urls
    same = ["#{SITE}/a", "HTTP://API.test:80/a#x", URI("#{SITE}/a"), /api\.test/, %r{/a\z}, ->(request) {
      request.url.end_with?("/a")
    }]
    same.each { |url| assert matches?(:get, url), url.inspect }
    ["#{SITE}/", "#{SITE}/a/", "#{SITE}/a?b=1", "https://api.test/a",
     "http://api.test:8080/a", /b/, ->(_) { false }].each { |url|
      refute matches?(:get, url), url.inspect
    }
    assert matches?(:get, "#{SITE}/v1/x", to: "x", client: client(base_url: "#{SITE}/v1/"))
    assert matches?(:get, "#{SITE}/a%20b?x=1%202", to: "#{SITE}/a b?x=1 2")
    ["/relative", "api.test", "http://u:p@api.test/"].each { |url|
      assert_raises(ArgumentError, url) { Hecaton.stub(:get, url) }
    }
  end

  def test_queries
    to = "#{SITE}/a?b=1&c=2%203&b=4"
    assert matches?(:get, "#{SITE}/a?c=2+3&b=4&b=1", to: to)
    assert matches?(:get, "#{SITE}/a", to: to, query: { b: [4, 1], c: "2 3", d: nil })
    assert matches?(:get, "#{SITE}/a?b=1", to: to, query: [[:b, 4], ["c", "2 3"]])
    assert matches?(:get, "#{SITE}/a", to: to, query: :any)
    assert matches?(:get, /api/, to: to, query: { b: [1, 4], c: "2 3" })
    assert matches?(:get, "#{SITE}/a?x", to: "#{SITE}/a?x")
    assert matches?(:get, "#{SITE}/a", query: {})
    refute matches?(:get, "#{SITE}/a", to: to)
    refute matches?(:get, "#{SITE}/a", to: to, query: { b: 1 })
    refute matches?(:get, "#{SITE}/a", query: { b: 1 })
  end

  def test_methods_headers_and_bodies
    assert matches?(:any, verb: :delete)
    assert matches?(%i[get put], verb: :put)
    assert matches?("post", verb: :post)
    refute matches?(:get, verb: :head)
    given = { headers: { x_a: "1", "X-B" => %w[2 3] }, bearer: "t" }
    [{ "X-A" => "1" }, { x_a: 1 }, { "x-a": /\d/ }, { x_b: %w[2 3] }, { x_b: "2, 3" },
     { x_c: nil }, { authorization: "Bearer t", user_agent: /hecaton/ }].each do |headers|
      assert matches?(:get, headers: headers, request: given), headers.inspect
    end
    [{ "X-A" => "2" }, { x_a: nil }, { x_b: "2" }, { x_c: /./ }].each { |headers|
      refute matches?(:get, headers: headers, request: given), headers.inspect
    }
    post = ->(sent, **expected) { matches?(:post, verb: :post, request: sent, **expected) }
    assert post.({ body: "é" }, body: "é")
    assert post.({ body: StringIO.new("text") }, body: /ex/)
    assert post.({ body: "é" }, body: ->(body) { body == "é" })
    assert post.({ json: { a: [1, nil] } }, json: { "a" => [1, nil] })
    assert post.({ form: { a: 1, b: { c: 2 } } }, form: { b: { c: "2" }, "a" => "1" })
    refute post.({ body: "x" }, body: "y")
    refute post.({ body: "x" }, json: { a: 1 })
    refute post.({ json: { a: 1 } }, json: { a: 2 })
    refute post.({ form: { a: 1 } }, form: { a: 2 })
    refute post.({}, body: "x")
    assert_raises(ArgumentError) { Hecaton.stub(:post, body: "x", json: 1) }
    assert_raises(ArgumentError) { Hecaton.stub([]) }
    assert_raises(ArgumentError) { Hecaton.stub(:get, headers: "x") }
  end

  def test_a_regexp_and_bytes_of_another_encoding_do_not_match
    bytes = { request: { body: "\xFF".b } }
    refute matches?(:post, nil, body: /é/, verb: :post, **bytes)
    assert matches?(:post, nil, body: /\xFF/n, verb: :post, **bytes)
    assert matches?(:post, nil, body: /\xC3\xA9/n, verb: :post, request: { body: "é" })
    refute matches?(:get, nil, headers: { a: /é/ }, request: { headers: { "a" => "\xFF".b } })
    assert matches?(:get, nil, headers: { a: /é/ }, request: { headers: { "a" => "é" } })
  end

  def test_the_last_stub_that_matches_responds
    general = Hecaton.stub(:get).returns(200)
    special = Hecaton.stub(:get, "#{SITE}/a").returns(201)
    assert_equal [201, 200], [get("/a").status, get("/b").status]
    assert_equal [1, 1], [general.count, special.count]
    assert_equal [special, general], Hecaton::Testing.stubs
  end

  def test_what_matches_no_stub_is_an_error_that_lists_them
    error = assert_raises(Hecaton::Testing::UnmatchedRequest) { get("/x?secret=1") }
    assert_equal "no stub matches GET #{SITE}/x?secret=1, " \
      "and its host is not among Hecaton::Testing.allowed_hosts. There are no stubs: " \
      "add Hecaton.stub(:get, \"#{SITE}/x?secret=1\") { … }", error.message
    Hecaton.stub(:post, "#{SITE}/x")
    Hecaton.stub(:get, "#{SITE}/y", query: { a: 1 })
    Hecaton.stub(:get, "#{SITE}/x", query: { a: 1 })
    Hecaton.stub(%i[get put], /x/, headers: { "A" => "b" })
    Hecaton.stub(:get, ->(_) { true }, body: /x/)
    error = client(retry: true).get_all(["#{SITE}/x"]).first
    assert_equal [Hecaton::Testing::UnmatchedRequest, :queue, false, "#{SITE}/x", [], nil],
      [error.class, error.phase, error.sent?, error.url, error.attempts, error.response]
    assert_equal [
      "  GET a URL that its block takes with body /x/ (another body)",
      "  GET or PUT /x/ with headers #{{ "A" => "b" }.inspect} (other headers)",
      "  GET #{SITE}/x with the query #{{ a: 1 }.inspect} (another query)",
      "  GET #{SITE}/y with the query #{{ a: 1 }.inspect} (another URL)", "  POST #{SITE}/x (another method)"
    ], error.message.lines(chomp: true).drop(1)
    assert_raises(Hecaton::Testing::UnmatchedRequest) { get("/x") { flunk } }
    assert_equal ["#{SITE}/x?secret=1", "#{SITE}/x", "#{SITE}/x"], Hecaton::Testing.unmatched.map(&:url)
  end

  def test_real_requests_to_chosen_hosts
    Scripted.run("/" => Scripted.response(207)) do |server|
      port = URI(server.url).port
      [["127.0.0.1"], ["127.0.0.1:#{port}"], [/127\.0/], ["x", "*.0.0.1"]].each do |hosts|
        Hecaton::Testing.allowed_hosts = hosts
        Hecaton::Testing.reset
        assert_equal [207, [207], 207],
          [status("#{server.url}/"), client.get_all(["#{server.url}/"]).map(&:status), status("#{server.url}/")]
        assert_raises(Hecaton::Testing::UnmatchedRequest) { get }
      end
      Hecaton.stub(:get, server.url).returns(208)
      assert_equal 208, status("#{server.url}/")
      [["127.0.0.1:1"], ["0.0.1"], []].each do |hosts|
        Hecaton::Testing.allowed_hosts = hosts
        assert_raises(Hecaton::Testing::UnmatchedRequest) { get("/").then { client.get("#{server.url}/other") } }
      end
      Hecaton::Testing.disable!
      assert_equal 207, status("#{server.url}/")
      Hecaton::Testing.enable!
      assert_equal 208, status("#{server.url}/")
    end
    assert_raises(ArgumentError) { Hecaton::Testing.allowed_hosts = "127.0.0.1" }
  ensure
    Hecaton::Testing.allowed_hosts = []
  end

  def test_reset_forgets
    Hecaton.stub(:get)
    get
    assert_nil Hecaton::Testing.reset
    assert_equal [[], []], [Hecaton::Testing.requests, Hecaton::Testing.stubs]
    assert_raises(Hecaton::Testing::UnmatchedRequest) { get }
  end

  def test_threads_count_right
    numbers = Array.new(200, &:to_s)
    stub = Hecaton.stub(:get).returns(*numbers)
    bodies = Array.new(8) { Thread.new { Array.new(25) { get.body } } }.flat_map(&:value)
    assert_equal [200, (0...200).to_a], [stub.count, bodies.map(&:to_i).sort]
  end
end
