# Interceptors between a program and the network: they respond, let pass or observe, in requests, streams and batches.
require "test_helper"
require "scripted"
require "pathname"
require "hecaton/interception/run"

class InterceptionTest < ServerTest
  # Responds and refuses by blocks, and keeps the requests and outcomes that it saw.
  class Interceptor < Hecaton::Interception::Interceptor
    attr_accessor :requests, :outcomes, :observes, :replies, :refuses

    def initialize(name = :test, &replies)
      super(name, &nil)
      @replies = replies
      @requests = []
      @outcomes = []
    end

    def observes? = observes || false
    def observe(request, outcome) = outcomes << [request, outcome]
    def refuse(request) = refuses&.call(request)

    def respond(request)
      requests << request
      replies&.call(request)
    end
  end

  def teardown = interceptors.each { |each| Hecaton::Interception.remove(each) }
  def interceptors = @interceptors ||= []

  def intercept(name = :test, &replies)
    Interceptor.new(name, &replies).tap do |added|
      interceptors << added
      Hecaton::Interception.add(added)
    end
  end

  def reply(status = 200, headers = {}, body = "") = Hecaton::Response.new(status: status, headers: headers, body: body)

  FACTS = %i[status headers body url http_method].freeze
  def facts(outcome) = FACTS.map { |fact| outcome.public_send(fact) }

  def test_what_does_nothing_is_there_with_hecaton_alone
    lib = File.expand_path("../lib", __dir__)
    program = "class Mine < Hecaton::Interception::Interceptor; end; p Mine.new(:x).name"
    assert_equal ":x\n", IO.popen([RbConfig.ruby, "-I#{lib}", "-rhecaton", "-e", program], err: %i[child out], &:read)
  end

  def test_nobody_is_there_unless_added
    refute Hecaton::Interception.active?
    one = intercept
    assert Hecaton::Interception.active?
    Hecaton::Interception.add(one)
    client.get(url("/r/1"))
    assert_equal 1, one.requests.size
    Hecaton::Interception.remove(one)
    Hecaton::Interception.remove(one)
    refute Hecaton::Interception.active?
    client.get(url("/r/1"))
    assert_equal 1, one.requests.size
  end

  def test_a_given_response_is_the_response_and_nothing_is_sent
    intercept { |request|
      reply(201, { "Content-Type" => "text/plain; charset=utf-8", "X-A" => %w[1 2] }, "é #{request.http_method}")
    }
    response = client(base_url: "http://nowhere.test/v1/").post("users", params: { a: "b c" }, body: "x")
    assert_equal [201, "é POST", "http://nowhere.test/v1/users?a=b%20c", "POST"],
      [response.status, *facts(response).drop(2)]
    assert_equal [%w[1 2], Encoding::UTF_8], [response.headers.get_all("x-a"), response.body.encoding]
    assert_equal [[:status, 201, nil, true, 0]],
      response.attempts.map { |one| one.to_h.values_at(:ending, :status, :connection, :sent, :redirects) }
    assert_equal [[], nil], [response.redirects, response.timings.connect_time]
    assert_operator response.elapsed, :>, 0
  end

  def test_a_batch_gets_the_same_as_a_single_request
    intercept { |request|
      request.url.end_with?("/bad") ? Hecaton::ConnectError.new("down") : reply(200, { "A" => "b" }, request.url)
    }
    single = client.get("http://nowhere.test/x")
    good, bad, none = client.get_all(["http://nowhere.test/x", "http://nowhere.test/bad", "http://"])
    assert_equal facts(single), facts(good)
    assert_equal [Hecaton::ConnectError, "down", Hecaton::URLError], [bad.class, bad.message, none.class]
    assert_equal "down", error_of(Hecaton::ConnectError) { client.get("http://nowhere.test/bad") }.message
    seen = client.each_response(%w[http://a.test/1 http://a.test/2 http://a.test/3], concurrency: 1).map { |outcome, of|
      [outcome.body, of]
    }
    assert_equal %w[http://a.test/1 http://a.test/2 http://a.test/3].map { |each| [each, each] }, seen
  end

  def test_what_cannot_be_sent_is_refused_in_the_same_words
    bad = [["http://"], [nil], ["/relative"], [url("/"), { headers: { "A" => "b\nc" } }],
           [url("/"), { timeout: -1 }], ["http://a.test/\n"]]
    attempt = ->((target, options)) { error_of(ArgumentError) { client.get(target, **options.to_h) }.message }
    real = bad.map(&attempt)
    outcomes = ->() {
      client.get_all(["http://", "http://a.test/\n"]).map { |outcome|
        [outcome.class, outcome.message, outcome.phase, outcome.sent?, outcome.url]
      }
    }
    real_outcomes = outcomes.call
    intercept { reply }
    assert_equal real, bad.map(&attempt)
    assert_equal real_outcomes, outcomes.call
    client.batch do |batch|
      assert_raises(ArgumentError) { batch.get(url("/"), headers: { "A" => "b\nc" }) }
      Thread.new { assert_raises(ThreadError) { batch.get(url("/")) } }.join
      assert_equal 0, batch.size
    end
  end

  def test_an_interceptor_sees_what_the_server_would
    one = intercept
    jar = Hecaton::Cookies.new
    jar.set("a=1; Path=/echo", real_server.url)
    jar.set("b=2; Path=/other", real_server.url)
    clients = [client, client(decode: false, user_agent: "me", headers: { "X-A" => "1", x_b: 2 }, app_name: "app"),
               client(bearer: "t", cookies: jar),
               client(base_url: real_server.url.sub("http://", "http://u:p%40@"), headers: { "X-A" => "1" })]
    options = [{}, { json: { a: 1 } }, { form: { a: "b" }, headers: { "Accept" => "text/html", "X-A" => nil } },
               { headers: { "Range" => "bytes=0-1" } },
               { basic_auth: %w[u p] }, { bearer: false, body: "text" }]
    clients.product(options, ["/echo?x=1#y", real_server.url.sub("http://", "http://me:pw@") + "/echo"])
      .each do |client, given, target|
      target = url(target) unless target.start_with?("http")
      said = JSON.parse(client.post(target, **given).body)
      request = one.requests.last
      sent = said["headers"].map { |name, value| [name.downcase, value] }.reject { |name, _|
        %w[host content-length].include?(name)
      }
      assert_equal sent.sort, request.headers.to_a.sort, [target, given].inspect
      assert_equal [said["method"], said["path"], said["body"]],
        [request.http_method, request.url.delete_prefix(real_server.url), request.body.to_s]
    end
    away = clients.last.get(real_server.url.sub("127.0.0.1", "localhost") + "/echo")
    assert_equal JSON.parse(away.body)["headers"].drop(1).map { |name, value| [name.downcase, value] }.sort,
      one.requests.last.headers.to_a.sort
    assert_equal [["x", "1 2"], ["x", "3"]],
      client.get(url("/r/1"), params: { x: ["1 2", 3] }) && one.requests.last.params
  end

  def test_a_body_that_is_read_by_an_interceptor_is_sent_all_the_same
    one = intercept
    reading, writing = IO.pipe
    writing.write("piped")
    writing.close
    file = Pathname(File.join(__dir__, "scripted.rb"))
    bodies = { StringIO.new("io") => "io", file => file.binread, %w[a b].each => "ab", reading => "piped" }
    bodies.each do |body, text|
      seen = nil
      one.replies = ->(request) { (seen = request.body) && nil }
      assert_equal text, JSON.parse(client.put(url("/echo"), body: body).body)["body"]
      assert_equal text, seen
    end
    one.replies = nil # Nor is it lost when nobody looks.
    outcome = nil
    client.batch { |batch|
      batch.put(url("/echo"), body: StringIO.new("batch")).on_complete { |ended| outcome = ended }
    }
    assert_equal "batch", JSON.parse(outcome.body)["body"]
  end

  def test_streams
    one = intercept { |request| reply(200, { "A" => "b" }, "abc") if request.url.include?("nowhere") }
    one.observes = true
    chunks = []
    value = client.get("http://nowhere.test/") do |stream|
      stream.each_chunk { |chunk| chunks << chunk }
      assert_equal ["b", 200, "http://nowhere.test/", "GET", true],
        [stream.headers["a"], stream.status, stream.url, stream.http_method, stream.success?]
      :value
    end
    assert_equal [:value, ["abc"], []], [value, chunks, one.outcomes]
    client.get(url("/pieces/3/10/0")) { |stream| stream.each_chunk { |chunk| chunk } }
    client.get(url("/bytes/1000000")) { |stream| stream.status }
    assert_equal [[url("/pieces/3/10/0"), 30]],
      one.outcomes.map { |request, outcome| [request.url, outcome.body.bytesize] }
    one.replies = ->(_) { Hecaton::TimeoutError.new("late") }
    assert_raises(Hecaton::TimeoutError) { client.get("http://nowhere.test/") { flunk } }
  end

  def test_observers_get_what_the_network_sent
    one = intercept
    client.get(url("/r/1"))
    assert_empty one.outcomes
    one.observes = true
    response = client.get(url("/bytes/10"))
    error = error_of(Hecaton::BodyError) { client.get(url("/fault/truncate")) }
    pieces = []
    client.batch do |batch|
      batch.get(url("/bytes/20")).on_body { |piece| pieces << piece }
      batch.get(url("/status/404"))
    end
    assert_equal [response, error.message], [one.outcomes[0].last, one.outcomes[1].last.message]
    assert_equal [20, 404], one.outcomes.drop(2).map(&:last).sort_by(&:status).then { |whole, missing|
      [whole.body.bytesize, missing.status]
    }
    assert_equal one.requests.first(3), [one.requests[0], *one.outcomes.map(&:first).first(2)]
    assert_equal 20, pieces.join.bytesize
  end

  def test_observers_get_decoded_bodies_without_the_fields_of_their_coding
    require "zlib"
    coded = Zlib.gzip("plain")
    Scripted.run("/" => Scripted.response(200, { "Content-Encoding" => "gzip" }, coded)) do |server|
      one = intercept
      one.observes = true
      assert_equal "plain", client.get(server.url).body
      assert_equal coded, client(decode: false).get(server.url).body
      decoded, raw = one.outcomes.map(&:last)
      assert_equal ["plain", nil, coded, "gzip"],
        [decoded.body, decoded.headers["content-encoding"], raw.body, raw.headers["content-encoding"]]
    end
  end

  def test_given_responses_are_decoded_as_those_of_the_network
    require "zlib"
    given = nil
    intercept { given }
    bodies = { ["gzip", Zlib.gzip("é"), "text/plain; charset=ISO-8859-1"] => "é".b.force_encoding("ISO-8859-1"),
               ["gzip", "not coded", nil] => "not coded",
               ["deflate", Zlib.deflate("x"), nil] => "x", [nil, "é", "application/json"] => "é",
               [nil, "é", "text/plain"] => "é".b, [nil, "a", "a; charset=nonsense"] => "a".b }
    bodies.each do |(coding, body, type), expected|
      given = reply(200, { "Content-Encoding" => coding, "Content-Type" => type }.compact, body)
      got = client.get("http://a.test/").body
      assert_equal [expected, expected.encoding], [got, expected.ascii_only? ? expected.encoding : got.encoding], body
    end
    given = reply(200, { "Content-Encoding" => "gzip" }, Zlib.gzip("x"))
    assert_equal given.body, client(decode: false).get("http://a.test/").body
    assert_equal "", client.head("http://a.test/").body
  end

  def test_batches_in_parts
    intercept { |request| reply(request.url[/\d+\z/].to_i, { "A" => "b" }, "body") }
    events = []
    client.batch(concurrency: 1) do |batch|
      [200, 500].each do |status|
        batch.get("http://a.test/#{status}", raise_for_status: status == 500).on_headers { |head|
          events << [status, head.headers["a"], head.body]
        }
          .on_body { |piece| events << [status, piece] }.on_complete { |outcome|
            events << [status, outcome.class, outcome.response.body]
          }
      end
      batch.get("http://a.test/201").on_headers { |head| events << head.status }.on_complete { |outcome|
        events << outcome.body
      }
    end
    assert_equal [[200, "b", ""], [200, "body"],
                  [200, Hecaton::Response, ""], [500, Hecaton::StatusError, ""], 201, "body"],
      events
  end

  def test_a_batch_of_both
    one = intercept { |request| reply(299, {}, "") if request.url.include?("nowhere") }
    order = []
    client.batch(concurrency: 1) do |batch|
      queue = ->(name, target, **options) {
        batch.get(target, **options).on_complete { |outcome| order << [name, outcome.status] }
      }
      queue.call(:real, url("/r/1"))
      queue.call(:stub, "http://nowhere.test/1")
      queue.call(:first, url("/r/1"), queue: :front)
      queue.call(:very_first, url("/r/1"), queue: :front)
      late = batch.get(url("/status/404"))
      late.on_body { |piece| piece }.on_headers { |head| order << [:head, head.status] }.on_complete {
        queue.call(:more, "http://nowhere.test/2")
      }
      assert_equal [5, 1, nil], [batch.size, batch.max_concurrency, late.outcome]
      batch.max_concurrency = 1
      assert_equal 0, one.requests.size
    end
    assert_equal [[:very_first, 200], [:first, 200], [:real, 200], [:stub, 299], [:head, 404], [:more, 299]], order
  end

  def test_an_abort_and_an_exception_leave_the_rest_uncalled
    one = intercept { reply }
    requests = []
    client.batch(concurrency: 1) do |batch|
      requests = Array.new(3) { |index| batch.get("http://a.test/#{index}") }
      requests[0].on_complete { batch.abort }
    end
    assert_equal [1, [nil, false], [Hecaton::CancelledError] * 2],
      [one.requests.size, [requests[0].outcome.error, requests[2].outcome.sent?], requests.drop(1).map { |each|
        each.outcome.class
      }]
    one.replies = ->(_) { raise IndexError, "of an interceptor" }
    assert_raises(IndexError) { client.get("http://a.test/") }
    assert_raises(IndexError) { client.batch { |batch| requests = Array.new(2) { batch.get("http://a.test/") } } }
    assert_equal [Hecaton::CancelledError] * 2, requests.map { |each| each.outcome.class }
    one.replies = ->(_) { :something }
    assert_match(/test responds to GET http:\/\/a.test\/ with Symbol/,
      error_of(TypeError) { client.get("http://a.test/") }.message)
  end

  def test_several_are_called_in_order_and_may_refuse
    first = intercept(:first) { |request| reply(201) if request.url.end_with?("/1") }
    second = intercept(:second) { |request| reply(202) if request.url.end_with?("/2") }
    first.refuses = ->(_) { Hecaton::ConnectError.new("refused", phase: :queue) }
    assert_equal [201, 202], [client.get("http://a.test/1"), client.get("http://a.test/2")].map(&:status)
    error = error_of(Hecaton::ConnectError) { client(retry: true).get(url("/r/3")) }
    assert_equal ["refused", [], 2], [error.message, error.attempts, second.requests.size]
  end

  def test_bypass_holds_for_one_request_or_batch
    webmock = intercept(:webmock) { reply(201) }
    intercept(:other) { reply(202) }
    bypass = ->(*names, &block) { Hecaton::Interception.bypass(*names, &block) }
    statuses = bypass.call(:webmock) { [client.get(url("/r/1")).status, client.get(url("/r/1")).status] }
    assert_equal [202, 201], statuses
    inner = []
    bypass.call do
      client.batch { |batch|
        2.times {
          batch.get(url("/r/1")).on_complete { |outcome| inner << [outcome.status, client.get(url("/r/1")).status] }
        }
      }
    end
    assert_equal [[200, 201]] * 2, inner
    assert_equal 200, bypass.call { client.get(url("/r/1")) { |stream| stream.status } }
    assert_equal [201, 4], [client.get(url("/r/1")).status, webmock.requests.size]
  end

  def test_rules_for_responses_of_the_network_hold_for_given_ones
    events = []
    subscription = Hecaton.subscribe("request.hecaton") { |event|
      events << event.payload.values_at("url.full", "http.response.status_code", "error.type")
    }
    intercept { reply(500, { "Sunset" => "Sat, 31 Dec 2050 23:59:59 GMT" }, "why") }
    strict = client(raise_for_status: true, on_deprecation: ->(response) { events << response.sunset.year })
    error = error_of(Hecaton::StatusError) { strict.get("http://a.test/?x=1") }
    assert_equal ["why", "http://a.test/"], [error.excerpt, error.url]
    strict.get("http://a.test/", raise_for_status: false) { |stream| stream.status }
    assert_equal 2050, events.select { |each| each == 2050 }.last
    assert_equal [["http://a.test/", 500, "500"]] * 2, events.grep(Array)
  ensure
    subscription&.unsubscribe
  end

  def test_cookies_of_given_responses_are_kept
    one = intercept { reply(200, "Set-Cookie" => ["a=1; Path=/", "b=2; Domain=a.test; Secure", "=;;"]) }
    own = client(cookies: true)
    own.get("http://a.test/")
    own.get("https://a.test/x")
    own.get("http://sub.a.test/")
    assert_equal [nil, "a=1", nil], one.requests.map { |request| request.headers["cookie"] }
    own.get("https://a.test/")
    assert_equal "a=1; b=2", one.requests.last.headers["cookie"]
  end

  def test_retries_without_waits
    statuses = [503, 503, 200]
    one = intercept { |request|
      request.http_method == "GET" ? reply(statuses.shift) :
        Hecaton::TimeoutError.new("late", phase: :first_byte, sent: true)
    }
    patient = client(retry: { statuses: [500..599], interval: 1000 }, timeout: 5000)
    response = patient.get("http://a.test/")
    assert_equal [200, [503, 503, 200], 3], [response.status, response.attempts.map(&:status), one.requests.size]
    error = error_of(Hecaton::TimeoutError) { patient.put("http://a.test/") }
    assert_equal [%i[failed failed failed], 6], [error.attempts.map(&:ending), one.requests.size]
    assert_raises(Hecaton::TimeoutError) { patient.post("http://a.test/") }
    assert_equal 7, one.requests.size
    one.replies = ->(_) { Hecaton::TimeoutError.new("late", phase: :total) }
    assert_raises(Hecaton::TimeoutError) { patient.get("http://a.test/") }
    assert_equal 8, one.requests.size
    one.replies = ->(_) { reply(503) } # A wait that goes past the deadline is not begun.
    assert_equal [503], patient.get("http://a.test/", timeout: 5).attempts.map(&:status)
  end

  def test_limits_hold_for_given_responses
    require "zlib"
    large = reply(200, {}, "x" * 1000)
    cases = [[{ max_body: 999 }, Hecaton::BodyError, /larger than/, large],
             [{ max_body: 999 }, Hecaton::BodyError, /larger than/,
              reply(200, { "Content-Encoding" => "gzip" }, Zlib.gzip("x" * 1000))],
             [{ max_header_bytes: 99 }, Hecaton::ProtocolError, /max_header_bytes/, reply(200, { "A" => "b" * 99 })],
             [{}, Hecaton::BodyError, /undecodable/,
              reply(200, { "Content-Encoding" => "gzip" }, Zlib.gzip("x")[0...-3])]]
    cases.each do |settings, kind, message, given|
      one = intercept { given }
      single = error_of(kind) { client(**settings).get("http://a.test/") }
      batched = client(**settings).get_all(["http://a.test/"]).first
      [single, batched].each { |error| assert_match message, error.message }
      assert_equal [[kind, :failed, true]] * 2,
        [single, batched].map { |error| [error.class, error.attempts[0].ending, error.sent?] }
      Hecaton::Interception.remove(one)
    end
    intercept { large }
    assert_equal 1000, client(max_body: 999).get("http://a.test/") { |stream| stream.each_chunk.to_a.join.bytesize }
  end

  def test_timeouts_hold_for_given_responses
    one = intercept { sleep(0.2) && reply }
    error = error_of(Hecaton::TimeoutError) { client.get("http://a.test/", timeout: 0.1) }
    assert_equal [:total, 1, true],
      [error.phase, error.attempts.size, error.message.include?("the deadline of 100ms passed")]
    one.replies = ->(_) { sleep(0.2) && nil }
    assert_equal :total, error_of(Hecaton::TimeoutError) { client.get(url("/r/1"), timeout: 0.1) }.phase
    one.replies = ->(_) { sleep(0.2) && reply }
    ways = [->(own) { error_of(Hecaton::TimeoutError) { own.get("http://a.test/") } }, ->(own) {
      own.get_all(["http://a.test/"]).first
    }]
    ways.each { |way| assert_equal :first_byte, way.call(client(first_byte_timeout: 0.1)).phase }
    assert_equal 200, client(first_byte_timeout: 60).get("http://a.test/").status
  end

  def test_concurrency_holds_for_given_responses
    most = under_way = 0
    intercept { reply.tap { most = [most, under_way += 1].max } }
    client.batch(concurrency: 2) { |batch|
      6.times { |index| batch.get("http://a.test/#{index}").on_complete { under_way -= 1 } }
    }
    assert_equal [1, 0], [most, under_way] # They are handed over one by one.
    seen = []
    intercept(:other) { |request| seen << request.url && nil }
    client.batch(concurrency: 2) { |batch|
      3.times { |index| batch.get("http://a.test/#{index}").on_complete { seen << index } }
    }
    assert_equal [0, 1, 2], seen.grep(Integer)
  end

  def test_digest_authentication_and_features_work_on_given_responses
    one = intercept { |request|
      request.headers["authorization"] ? reply(200, {}, request.headers["x-attempt"]) :
          reply(401, "WWW-Authenticate" => 'Digest realm="r", nonce="n", qop="auth"')
    }
    feature = Class.new {
      def before_attempt(request, number) = request.with(headers: { "X-Attempt" => number.to_s })
    }.new
    response = client(digest_auth: %w[user pass], features: [feature]).get("http://a.test/")
    assert_equal [200, "2", [401, 200]], [response.status, response.body, response.attempts.map(&:status)]
    assert_match(/\ADigest username="user", realm="r"/, one.requests.last.headers["authorization"])
  end

  def test_an_interceptor_may_send_requests_itself
    own = client
    one = intercept do |request|
      next reply(200, {}, "inner") unless request.url.end_with?("/outer")

      reply(200, {}, [own.get("http://a.test/").body, *own.get_all(["http://a.test/"] * 2).map(&:body)].join(" "))
    end
    bodies = [own.get("http://a.test/outer").body, own.get("http://a.test/outer") { |stream|
      stream.each_chunk.to_a.join
    }]
    assert_equal ["inner inner inner"] * 4, bodies + own.get_all(["http://a.test/outer"] * 2).map(&:body)
    assert_equal 16, one.requests.size
  end

  # A recorder needs each of them: when its recording is replayed, the client retries again.
  def test_each_response_of_the_network_is_observed
    bodies = %w[first second third]
    statuses = [503, 503, 200]
    Scripted.run("/" => ->(_) { Scripted.response(statuses.shift, {}, bodies.shift) }) do |server|
      one = intercept
      one.observes = true
      [{ statuses: [503] }, { if: ->(outcome) { outcome.status == 503 } }].each do |rules|
        own = client(retry: { interval: 0, **rules })
        [-> { own.get(server.url).body }, -> { own.get(server.url) { |stream| stream.each_chunk.to_a.join } },
         -> { own.get_all([server.url]).first.body }].each do |attempt|
          bodies, statuses = %w[first second third], [503, 503, 200]
          one.outcomes.clear
          one.requests.clear
          assert_equal ["third", 3], [attempt.call, one.requests.size]
          assert_equal [[503, "first"], [503, "second"], [200, "third"]],
            one.outcomes.map { |_, outcome| [outcome.status, outcome.body] }
        end
      end
    end
  end

  def test_a_request_that_is_re_sent_is_intercepted_once
    closing = [true, false]
    Scripted.run("/" => ->(_) { closing.shift ? raise(IOError) : Scripted.response(200, {}, "there") }) do |server|
      one = intercept
      response = client.get(server.url)
      assert_equal ["there", %i[resent status], 1], [response.body, response.attempts.map(&:ending), one.requests.size]
    end
  end

  def test_a_given_end_of_the_connection_is_re_sent_as_one_of_the_network
    [Errno::ECONNRESET, Errno::ECONNABORTED, Errno::EPIPE, EOFError].each do |kind|
      given = []
      one = intercept { |request| given.shift || Hecaton::Interception::Failures.of(kind, request.url) }
      given = [nil, reply(200, {}, "there")]
      assert_equal ["there", %i[resent status]],
        client.get("http://a.test/").then { |response| [response.body, response.attempts.map(&:ending)] }
      [[:get, true, 2], [:post, true, 1], [:get, false, 1]].each do |verb, reconnect, attempts|
        error = error_of(Hecaton::ProtocolError) { client(reconnect: reconnect).public_send(verb, "http://a.test/") }
        assert_equal [attempts, kind], [error.attempts.size, error.cause.class]
      end
      assert_equal 6, one.requests.size
      Hecaton::Interception.remove(one)
    end
  end

  def test_waits_after_given_responses_are_over_at_once_and_count_for_the_deadline
    intercept { reply(503) }
    rules = { max: 9, interval: 4000, backoff: 1, jitter: 0 }
    [{ statuses: [503] }, { if: ->(outcome) { outcome.status == 503 } }].each do |decision|
      own = client(timeout: 10_000, retry: { **rules, **decision })
      [own.get("http://a.test/"), own.get_all(["http://a.test/"]).first, own.get("http://a.test/", &:itself)]
        .each do |outcome|
        # In thousands of seconds: the time that passes beside the waits counts too.
        assert_equal [[0, 4, 8], 8],
          [outcome.attempts.map { |attempt| attempt.begun.floor / 1000 }, outcome.elapsed.floor / 1000]
      end
    end
  end

  # The number of a request that has ended is given to another one.
  def test_no_interceptor_is_called_for_a_request_that_has_ended
    urls = []
    intercept { |request| (urls << request.url) && sleep(0.15) && reply }
    late, good = [], []
    client.batch do |batch|
      2.times do |index|
        batch.get("http://a.test/#{index}", timeout: 0.1).on_complete do |outcome|
          late << outcome.class
          batch.get("http://b.test/#{index}").on_complete { |other| good << other.status }
        end
      end
    end
    assert_equal [[Hecaton::TimeoutError] * 2, [200] * 2], [late, good]
    assert_equal urls.uniq, urls
  end

  HOPS = { 301 => "/end", 303 => "/end#y", 307 => "end", 308 => "//HOST/end" }.freeze

  def test_redirects_are_followed_as_those_of_the_network
    HOPS.each do |status, place|
      %i[get post put].each do |verb|
        options = { get: {} }.fetch(verb) {
          { body: "text", headers: { "Content-Type" => "a/b", "X-Any" => "1", "x-b" => "2", "Range" => "bytes=0-9" } }
        }
        compare(verb, { redirects: 3, public_headers: ["X-B"], headers: { "X-A" => "1" } }, options) do |away|
          { "/start" => [status, { "Location" => place.sub("HOST", away.delete_prefix("http://")) }, ""] }
        end
      end
    end
  end

  def test_redirects_that_are_not_followed_are_the_same_errors
    { 0 => "/end", 1 => "/start", 2 => "ftp://a.test/", 3 => "http://u:p@a.test/", 4 => "/again" }
      .each_with_index do |(redirects, place), index|
      compare(:get, { redirects: redirects }, {}) {
        { "/start" => [302, { "Location" => place }, "x"], "/again" => [302, { "Location" => "/again2" }, ""] }
      }
      compare(:get, { redirects: index + 1, redirect_hosts: ["b.test"] }, {}) { |away|
        { "/start" => [302, { "Location" => "#{away.sub("127.0.0.1", "localhost")}/" }, ""] }
      }
    end
    intercept { |request| reply(302, "Location" => request.url.sub("https:", "http:")) }
    assert_match(/from https to http, http:\/\/a.test\//, error_of(Hecaton::RedirectError) {
      client(redirects: 1).get("https://a.test/")
    }.message)
  end

  # Each of them was judged otherwise where the rules stood twice.
  def test_redirects_follow_the_rules_of_the_engine
    there = ->(away) { "#{away.sub("127.0.0.1", "localhost")}/end" }
    [["localhost."], ["LOCALHOST"], ["*.localhost"], ["[::1]"], []].each do |hosts|
      compare(:get, { redirects: 2, redirect_hosts: hosts }, {}) { |away|
        { "/start" => [302, { "Location" => there.(away) }, ""] }
      }
    end
    compare(:get, { redirects: 2, redirect_hosts: ["*.localhost."] }, {}) { |away|
      { "/start" => [302, { "Location" => there.(away).sub("localhost", "a.localhost") }, ""] }
    }
    ["\\end", "/en\td", "http:/end", "end\u00e9", "//", "http://127.0.0.1:0/", "HTTP://h:x/", "javascript:1"]
      .each do |place|
      compare(:get, { redirects: 2 }, {}) { { "/start" => [302, { "Location" => place }, ""] } }
    end
    compare(:get, { redirects: 2 }, {}) { { "/start" => [302, { "Location" => %w[/end /other] }, ""] } }
    compare(:get, { redirects: 2 }, {}) { { "/start" => [302, { "Location" => %w[/end /end] }, ""] } }
    fields = { "X-Access-Key" => "1", "DD-APPLICATION-KEY" => "2", "api_key" => "3",
               "X-Amz-Credential" => "4", "Authorization" => "5", "Cookie" => "6=",
               "X-Client" => "7", "Accept-Language" => "8", "X-Own" => "9" }
    [{}, { headers: { "X-Client" => "0", "Accept" => "1", "X-Other" => "2" }, public_headers: ["x-own"] },
     { digest_auth: %w[u p] }].each do |settings|
      [{ headers: fields }, {}].each do |options|
        compare(:get, { redirects: 2, **settings }, options) { |away|
          { "/start" => [302, { "Location" => "#{away}/end" }, ""] }
        }
      end
    end
  end

  def test_a_body_that_can_be_read_once_is_not_sent_after_a_redirect
    Scripted.run("/start" => Scripted.response(307, "Location" => "/end")) do |server|
      attempt = -> { outcomes_of(client(redirects: 2), :put, "#{server.url}/start", body: %w[a b].each) }
      real = attempt.call
      assert_equal [Hecaton::RedirectError, "it needs the request's body again, which can be read only once"],
        real.first(2)
      one = intercept
      assert_equal real, attempt.call
      one.replies = ->(_) { reply(307, "Location" => "/end") }
      assert_equal real, attempt.call
    end
  end

  def test_a_redirect_of_an_interceptor_may_lead_to_the_network
    intercept { |request| reply(307, "Location" => url("/echo")) if request.url.include?("a.test") }
    own = client(redirects: 2, headers: { "X-A" => "1" }, bearer: "t")
    response = own.put("http://a.test/", body: "text", headers: { "Cache-Control" => "own", "X-Token" => "2" })
    said = JSON.parse(response.body)
    fields = said["headers"].to_h.transform_keys(&:downcase)
    assert_equal ["PUT", "text", "own", nil],
      [said["method"], said["body"], *fields.values_at("cache-control", "x-token")]
    refute_includes fields.keys, "authorization"
    response = own.get("http://a.test/") { |stream|
      [stream.status, stream.each_chunk.to_a.join[/"method":"(\w+)"/, 1]]
    }
    assert_equal [200, "GET"], response
  end

  def test_redirects_of_the_network_may_lead_to_an_interceptor
    Scripted.run("/" => Scripted.response(302, { "Location" => "http://a.test/" }, "redirected")) do |server|
      one = intercept { |request| reply(201, {}, "there") if request.url.include?("a.test") }
      one.observes = true
      own = client(redirects: 1, raise_for_status: true)
      attempt = -> {
        [own.get(server.url), own.get(server.url) { |stream|
          [stream.status, stream.redirects, stream.each_chunk.to_a]
        }]
      }
      hop = [Hecaton::Redirect.new(status: 302, url: "#{server.url}/")]
      whole, read = attempt.call
      assert_equal [201, "there", "http://a.test/", hop, [302, 201], [0, 1]],
        [whole.status, whole.body, whole.url, whole.redirects,
         whole.attempts.map(&:status), whole.attempts.map(&:redirects)]
      assert_equal [[201, hop, ["there"]], ["redirected"] * 2], [read, one.outcomes.map { |_, outcome| outcome.body }]
      parts = []
      outcomes = []
      own.batch do |batch|
        batch.get(server.url).on_headers { |head| parts << [head.status, head.redirects] }
          .on_body { |piece| parts << piece }.on_complete { |outcome| outcomes << outcome }
        batch.get(server.url).on_complete { |outcome| outcomes << outcome }
      end
      assert_equal [[[201, hop], "there"], ["", "there"], 302],
        [parts, outcomes.map(&:body).sort, client.get(server.url).status]
      one.replies = nil
      one.refuses = ->(request) {
        Hecaton::ConnectError.new("refused", phase: :queue) if request.url.include?("a.test")
      }
      errors = [own.get_all([server.url]).first, assert_raises(Hecaton::ConnectError) { own.get(server.url) },
                assert_raises(Hecaton::ConnectError) { own.get(server.url) { flunk } }]
      errors.each { |error|
        assert_equal ["refused", hop, [302]], [error.message, error.redirects, error.attempts.map(&:status)]
      }
    end
  end

  def test_streams_and_parts_behind_redirects_of_the_network
    Scripted.run("/" => Scripted.response(307, "Location" => "/end"),
      "/end" => Scripted.response(200, {}, "there")) do |server|
      one = intercept
      own = client(redirects: 1)
      [true, false].each do |observes|
        one.observes = observes
        stream = own.put(server.url, body: StringIO.new("ab")) { |response|
          [response.status, response.url, response.redirects.size,
           response.each_chunk.to_a.join, response.attempts.size]
        }
        assert_equal [200, "#{server.url}/end", 1, "there", 2], stream
        parts = []
        own.batch { |batch|
          batch.put(server.url, body: StringIO.new("ab")).on_headers { |head|
            parts << head.status
          }.on_body { |piece|
            parts << piece
          }.on_complete { |outcome| parts << outcome.redirects.size << outcome.attempts.size }
        }
        assert_equal [200, "there", 1, 2], parts
        assert_equal ["ab"] * 4, server.requests.map { |request| request[/\r\n\r\n(.*)/m, 1] }
      end
      assert_equal ["", "there"] * 2, one.outcomes.map { |_, outcome| outcome.body }
    end
  end

  def test_an_exception_of_a_listener_leaves_no_request_without_outcome
    one = intercept
    one.observes = true
    one.define_singleton_method(:observe) { |*| raise IndexError, "observed" }
    requests = []
    assert_raises(IndexError) { client.batch { |batch| requests = Array.new(3) { batch.get(url("/r/1")) } } }
    assert_equal [true] * 3, requests.map { |request| !request.outcome.nil? }
    assert_raises(IndexError) { client.get(url("/r/1")) }
  end

  def test_one_deadline_is_around_all_redirects
    one = intercept
    Scripted.run("/" => Scripted.response(302, "Location" => url("/fault/stall-head"))) do |server|
      one.replies = ->(request) { sleep(0.2) && nil if request.url == "#{server.url}/" }
      with_growing(1) do |limit|
        error = error_of(Hecaton::TimeoutError) { client(redirects: 1).get(server.url, timeout: limit) }
        assert_equal :total, error.phase
        [error.redirects.size, error.attempts.size] == [1, 2]
      end
    end
  end

  def compare(verb, settings, options, &replies)
    Scripted.run("/end" => Scripted.response(201, {}, "there")) do |away|
      replies = { "/end" => [200, {}, "end"] }.merge(replies.call(away.url))
      Scripted.run(replies.transform_values { |each| Scripted.response(*each) }) do |server|
        real = outcomes_of(client(**settings), verb, "#{server.url}/start", options)
        real << (server.requests + away.requests).map { |each|
          each.downcase.lines.grep_v(/\A(host|content-length):/).drop(1).sort
        }
        one = intercept # Lets all pass.
        one.observes = true
        passed = outcomes_of(client(**settings), verb, "#{server.url}/start", options)
        passed << (server.requests + away.requests).map { |each|
          each.downcase.lines.grep_v(/\A(host|content-length):/).drop(1).sort
        }
        Hecaton::Interception.remove(one)
        assert_equal real, passed, ["let pass", verb, settings, replies].inspect
        assert_equal [one.requests.size] * 2, [one.outcomes.size, real.last.size]
        requests = []
        one = intercept do |request|
          requests << [*request.headers.map { |name, value| "#{name}: #{value}\r\n".downcase },
                       "\r\n", *request.body].sort
          request.url.start_with?(server.url) ? reply(*replies.fetch(request.url[%r{\w(/[^?]*)}, 1], [404, {}, ""])) :
            reply(201, {}, "there")
        end
        stubbed = outcomes_of(client(**settings), verb, "#{server.url}/start", options) << requests
        Hecaton::Interception.remove(one)
        assert_equal real, stubbed, [verb, settings, replies].inspect
      end
    end
  end

  def outcomes_of(client, verb, target, options)
    outcome = client.public_send(verb, target, **options)
    [outcome.status, outcome.body, outcome.url, outcome.http_method,
     outcome.redirects, outcome.attempts.map(&:redirects)]
  rescue Hecaton::Error => error
    [error.class, error.message.sub(/ \(.*/, ""), error.redirects,
     error.phase, error.sent?, error.url, error.attempts.map(&:redirects)]
  end
end
