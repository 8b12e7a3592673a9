# URLs: encoded as browsers do, refused in a sentence, with user and password; and a bad one in a batch.
require "test_helper"
require "scripted"
require "uri"

class UrlTest < ServerTest
  def server(&block) = Scripted.run({ "/end" => Scripted.response(200, {}, "arrived") }, &block)
  def fields(client, url) = JSON.parse(client.get(url).body)["headers"].to_h.transform_keys(&:downcase)

  def test_what_is_not_encoded_is_encoded_as_browsers_do
    { "/a b?c d" => "/a%20b?c%20d", "/é?ü" => "/%C3%A9?%C3%BC", "/<x>" => "/%3Cx%3E",
      "/é".encode("ISO-8859-1") => "/%C3%A9" }.each do |given, sent|
      [client.get("#{url("/echo")}#{given}"), client(base_url: url("/")).get("/echo#{given}")].each do |response|
        assert_equal url("/echo#{sent}"), response.url
      end
    end
    ["UTF-16LE", "UTF-16BE", "UTF-32LE"].each do |wide|
      [client.get(url("/echo/é").encode(wide)), client.get_all([url("/echo/é").encode(wide)]).first].each { |response|
        assert_equal url("/echo/%C3%A9"), response.url
      }
      assert_equal url("/r/1"), client.get(url("/r/1").encode(wide)).url
    end
    port = URI(real_server.url).port
    known = client(resolve: { "xn--bcher-kva.example:#{port}" => "127.0.0.1" })
    assert_equal "xn--bcher-kva.example:#{port}", fields(known, "http://bücher.example:#{port}/echo")["host"]
  end

  def test_what_is_valid_is_sent_as_it_stands
    server do |server|
      targets = ["/a/../b/./%7e%7E", "/a//b;c?d&&=", "/{x}?'q'", "/%c3%a9"]
      targets.each { |target| client.get("#{server.url}#{target}") }
      assert_equal(targets.map { |target| "GET #{target}" }, server.requested)
    end
  end

  def test_strict_urls
    [client(strict_urls: true), client(strict_urls: true, base_url: url("/"))].each do |strict|
      ["/a b", "/é"].each do |path|
        assert_match(/percent-encode/, error_of(ArgumentError) { strict.get(url(path)) }.message)
      end
      assert_equal 200, strict.get(url("/r/1")).status
    end
  end

  def test_a_uri_is_a_url
    uri = URI("#{url("/echo")}?a=b")
    replies = [client.get(uri), client.get(uri, params: { c: 1 }),
               client(base_url: URI(real_server.url)).get(URI("echo?a=b")),
               *client.get_all([uri]), client.get(uri, &:itself)]
    assert_equal %w[/echo?a=b /echo?a=b&c=1 /echo?a=b /echo?a=b /echo?a=b],
      replies.map { |reply| reply.url.delete_prefix(real_server.url) }
  end

  def test_what_is_no_url_gets_a_sentence
    { nil => /\AURL is nil: give a String or a URI\z/,
      "" => /\AURL is empty/, "example.org/x" => /has no scheme: begin it with/,
      "localhost:80/" => /has no scheme/, "/x" => /has no scheme/,
      :word => /has no scheme/, "ftp://host/" => /use http or https/,
      "http:/users" => /has no host: write/, "HTTPS:" => /has no host: write/,
      "http://" => /URL/, "http://host/\r\nx: 1" => /0x0d/,
      "http://host/\xFF" => /percent-encode/ }.each do |bad, message|
      assert_match message, error_of(ArgumentError) { client.get(bad) }.message
    end
    assert_match(/is nil/, error_of(ArgumentError) { client(base_url: real_server.url).get(nil) }.message)
  end

  def test_user_and_password_of_a_url_become_basic_authentication
    with = ->(login) { real_server.url.sub("://", "://#{login}@") + "/echo" }
    basic = ->(pair) { "Basic #{[pair].pack("m0")}" }
    { "user:pa%3Ass" => "user:pa:ss", "u%C3%A9:%40" => "ué:@", "user" => "user:", ":x" => ":x" }.each do |login, pair|
      assert_equal basic.(pair), fields(client, with.(login))["authorization"], login
    end
    of_client = client(bearer: "client")
    assert_equal basic.("user:pass"), fields(of_client, with.("user:pass"))["authorization"]
    authorization = ->(**options) {
      JSON.parse(of_client.get(with.("user:pass"), **options).body)["headers"].select { |name,|
        name == "Authorization"
      }
    }
    assert_equal [%w[Authorization own]], authorization.(headers: { "Authorization" => "own" })
    assert_equal [["Authorization", "Bearer own"]], authorization.(bearer: "own")
    assert_empty authorization.(basic_auth: false)
    based = client(base_url: with.("user:pass"))
    assert_equal [basic.("user:pass"), nil],
      ["/echo", url("/echo").sub("127.0.0.1", "localhost")].map { |location| fields(based, location)["authorization"] }
  end

  def test_user_and_password_are_never_shown
    hush = ->(path) { real_server.url.sub("://", "://user:hush@") + path }
    reported = []
    subscription = Hecaton.subscribe { |event| reported << event.payload.inspect }
    shown = ["/status/404", "/fault/reset", "/redirect/302/1", "/r/1"].flat_map do |path|
      [*client(redirects: 1).get_all([hush.(path)]),
       *client(base_url: hush.("/")).get_all([path, "http://user:hush@/"])]
    end
    client(base_url: hush.("/")).batch { |batch| reported << batch.inspect << batch.get("/r/1").inspect }
    texts = shown.flat_map { |outcome|
      [outcome.inspect, outcome.url, *outcome.redirects.map(&:url), *(outcome.error&.full_message)]
    }
    bad = ["http://user:hush@:0/", "http://user:hush@ho st\0/", "http://us%3Aer:hush@host/", "ftp://user:hush@host/"]
    texts += bad.map { |url| error_of(ArgumentError) { client.get(url) }.full_message(highlight: false) }
    refute_match(/hush|aHVzaA|dXNlcjpodXNo/, (reported + texts).map(&:b).join("\n"))
    refute_empty reported
  ensure
    subscription&.unsubscribe
  end

  def test_a_redirect_to_another_origin_loses_them
    server do |away|
      replies = { "/far" => Scripted.response(302, "Location" => "#{away.url}/end"),
                  "/near" => Scripted.response(302, "Location" => "/end") }
      Scripted.run(replies) do |home|
        %w[/far /near].each { |path| client(redirects: 1).get(home.url.sub("://", "://user:pass@") + path) }
        assert_equal [true, true, true],
          home.requests.map { |request| request.include?("Authorization: Basic dXNlcjpwYXNz") }
        assert_equal [false], away.requests.map { |request| request.match?(/authorization/i) }
      end
    end
  end

  BAD = ["no scheme", "http://host:0/?token=hush", "http://host/\r\nx"].freeze

  def test_a_bad_url_is_its_own_outcome
    sent = requests_of do
      outcomes = client.get_all([BAD[0], url("/r/1"), *BAD.drop(1), url("/r/2")])
      assert_equal [false, true, false, false, true], outcomes.map(&:success?)
      outcomes.map(&:error).compact.each do |error|
        assert_instance_of Hecaton::URLError, error
        assert_kind_of Hecaton::Error, error
        assert_equal [false, [], [], 0.0, :queue],
          [error.sent?, error.attempts, error.redirects, error.elapsed, error.phase]
        refute_match(/hush/, error.full_message + error.url)
      end
      assert_equal "http://host:0/", outcomes[2].error.url
    end
    assert_equal 2, sent
  end

  def test_a_bad_url_from_within_a_callback_ends_nothing
    reported = Hash.new(0)
    client.batch(concurrency: 2) do |batch|
      4.times do |number|
        batch.get(url("/r/#{number}")).on_complete do |outcome|
          reported[outcome.class] += 1
          bad = batch.post(BAD[number % 3], body: "x", params: { a: 1 })
          bad.on_headers { flunk }.on_body { flunk }.on_failure { |failed| reported[failed.class] += 1 }
          batch.get("é", queue: :front).on_complete { |failed| reported[failed.class] += 1 }
          assert_equal [nil, nil], [bad.outcome, nil], "not before its turn"
        end
      end
    end
    assert_equal({ Hecaton::Response => 4, Hecaton::URLError => 8 }, reported)
  end

  def test_a_batch_of_bad_urls_alone_and_one_that_is_aborted
    assert_equal [Hecaton::URLError] * 3, client.get_all(BAD).map(&:class)
    assert_equal BAD, client.each_response(BAD, concurrency: 1).map { |error, url| [error.sent?, url].last }
    requests = []
    client.batch do |batch|
      requests << batch.get(BAD[0]) << batch.get(url("/r/1"))
      assert_equal 2, batch.size
      batch.abort
      assert_equal 0, batch.size
    end
    assert_equal [Hecaton::URLError, Hecaton::CancelledError], requests.map { |request| request.outcome.class }
  end

  def test_a_request_of_a_tag_that_a_bad_url_had_is_reported_whole
    pieces = +""
    client.batch(concurrency: 1) do |batch|
      batch.get(BAD[0]).on_body { flunk }.on_complete do
        batch.get(url("/bytes/10")).on_complete { |outcome| assert_equal 10, outcome.body.bytesize }
        batch.get(url("/bytes/20")).on_body { |piece| pieces << piece }
      end
    end
    assert_equal 20, pieces.bytesize
  end

  def test_events_of_a_bad_url
    reported = []
    subscription = Hecaton.subscribe("request.hecaton") { |event| reported << event.payload }
    client.get_all(BAD)
    assert_equal ["Hecaton::URLError"] * 3, reported.map { |payload| payload["error.type"] }
    assert_equal [0] * 3, reported.map { |payload| payload["hecaton.attempts"] }
  ensure
    subscription&.unsubscribe
  end
end
