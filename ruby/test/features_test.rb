# Features: what they see and change, in single requests, streams and batches, and how they fail.
require "test_helper"
require "scripted"
require "logger"

class FeaturesTest < ServerTest
  # Notes what it is called with; `code` has a block for each method that does more.
  class Noting
    def initialize(notes, name, **code)
      @notes, @name, @code = notes, name, code
    end

    def before_request(request) = note(:before_request, request)
    def respond(request) = note(:respond, request)
    def before_attempt(request, number) = note(:before_attempt, request, number)
    def after(outcome) = note(:after, outcome)

    private

    def note(method, *arguments)
      @notes << [@name, method]
      @code[method]&.call(*arguments)
    end
  end

  WAYS = {
    get: ->(client, url) { client.get(url) },
    stream: ->(client, url) { client.get(url) { |stream| stream.tap(&:read).outcome } },
    batch: ->(client, url) { client.get_all([url]).first.raise_for_status },
    parts: ->(client, url) { FeaturesTest.in_parts(client, url).raise_for_status }
  }.freeze

  def self.in_parts(client, url)
    pending = nil
    client.batch { |batch| pending = batch.get(url).on_body { |_| nil } }
    pending.outcome
  end

  # Each way with a client whose features note what happens.
  def each_way(names = [:a], settings: {}, **code)
    WAYS.each do |way, request_once|
      notes = []
      features = names.map { |name| Noting.new(notes, name, **(code[name] || {})) }
      yield ->(url) { request_once.call(client(features: features, **settings), url) }, notes, way
    end
  end

  def test_the_order_is_that_of_the_list_and_the_reverse_on_the_way_back
    each_way(%i[a b]) do |request_once, notes, way|
      request_once.call(url("/r/1"))
      expected = [%i[a before_request], %i[a respond], %i[b before_request],
                  %i[b respond], %i[a before_attempt], %i[b before_attempt],
                  %i[b after], %i[a after]]
      assert_equal expected, notes, way
    end
  end

  def test_a_changed_request_is_what_is_sent
    changes = ->(request) { request.with(headers: { "x-a" => "1" }, url: "#{request.url}?changed") }
    Scripted.run("/?changed" => Scripted.response(200)) do |server|
      each_way(a: { before_request: changes }) do |request_once, _, way|
        request_once.call("#{server.url}/")
        assert_match(/\r\nx-a: 1\r\n/, server.requests.last, way)
      end
    end
  end

  def test_a_feature_sees_what_the_client_sends
    seen = []
    feature = Noting.new([], :a, before_request: ->(request) { seen << request && nil })
    client = client(base_url: url("/"), headers: { "x-c" => "1" }, features: [feature], basic_auth: %w[u p])
    client.post("echo", params: { a: 1 }, json: { "b" => 2 }, headers: { "x-r" => "2" })
    request = seen.first
    assert_equal [url("/echo?a=1"), '{"b":2}', "POST", url("/")[0..-2]],
      [request.url, request.body, request.http_method, request.origin]
    assert_equal({ "x-c" => "1", "authorization" => "Basic dTpw", "x-r" => "2", "content-type" => "application/json" },
      request.headers.to_h)
  end

  def test_one_that_responds_spares_the_request
    given = ->(_) { Hecaton::Response.new(status: 203, body: "given", headers: { "x" => "y" }) }
    sent = requests_of do
      each_way(%i[a b], a: { respond: given }) do |request_once, notes, way|
        response = request_once.call(url("/r/1"))
        assert_equal [203, url("/r/1"), "GET"], [response.status, response.url, response.http_method], way
        assert_equal [%i[a before_request], %i[a respond], %i[a after]], notes, way
      end
    end
    assert_equal 0, sent
    client = client(features: [Noting.new([], :a, respond: given)])
    assert_equal "given", client.get(url("/r/1")).body
    assert_equal "given", (client.get(url("/r/1")) { |stream| stream.read })
    pieces = []
    client.batch { |batch|
      batch.get(url("/r/1")).on_headers { |head| pieces << head.status << head.body }.on_body { |piece|
        pieces << piece
      }
    }
    assert_equal [203, "", "given"], pieces
  end

  def test_what_a_feature_gives_stays_as_it_is
    response = Hecaton::Response.new(status: 200)
    each_way(a: { respond: ->(_) { response } }) do |request_once, _, way|
      %w[/r/1 /r/2].each { |path| assert_equal url(path), request_once.call(url(path)).url, way }
      assert_nil response.url
    end
    silent = Object.new
    silent.define_singleton_method(:respond) { |_| response }
    WAYS.each do |way, request_once|
      outcome = request_once.call(client(features: [silent]), url("/r/1"))
      assert_equal [url("/r/1"), "GET", nil], [outcome.url, outcome.http_method, outcome.request], way
    end
  end

  def test_the_front_of_the_queue
    orders = [nil, [Noting.new([], :a)]].map do |features|
      order = []
      client(features: features).batch(concurrency: 1) do |batch|
        %i[back front front].each_with_index do |queue, number|
          batch.get(url("/r/1"), queue: queue).on_complete { |_| order << number }
        end
      end
      order
    end
    assert_equal [[2, 1, 0]] * 2, orders
  end

  def test_a_response_that_a_feature_gives_is_reported_once
    reported = []
    given = ->(_) { Hecaton::Response.new(status: 203, headers: { "deprecation" => "true" }) }
    settings = { on_deprecation: ->(response) { reported << response.status }, logger: Logger.new(log = StringIO.new) }
    subscription = Hecaton.subscribe { |event| reported << event.name }
    each_way(a: { respond: given }, settings: settings) do |request_once, _, way|
      request_once.call(url("/r/1"))
      assert_equal [203, "request.hecaton", 1],
        [*reported.shift(reported.size).sort_by(&:to_s), log.string.lines.grep(/ 203 in /).size], way
      log.truncate(0)
    end
  ensure
    subscription.unsubscribe
  end

  def test_a_status_that_a_feature_gives_may_be_an_error
    given = ->(_) { Hecaton::Response.new(status: 404) }
    each_way(a: { respond: given }, settings: { raise_for_status: true }) do |request_once, _, way|
      error = error_of(Hecaton::StatusError) { request_once.call(url("/r/1")) }
      assert_equal [404, url("/r/1"), nil], [error.status, error.url, error.response.request], way
    end
    lenient = client(features: [Noting.new([], :a, respond: given)], raise_for_status: true)
    assert_equal 404, lenient.get(url("/r/1"), raise_for_status: false).status
    each_way(a: { after: given }, settings: { raise_for_status: true }) do |request_once, _, way|
      assert_equal 404, error_of(Hecaton::StatusError) { request_once.call("http://127.0.0.1:1/") }.status, way
    end
  end

  def test_an_exception_is_the_failure_of_its_request_alone
    %i[before_request respond before_attempt after].each do |method|
      each_way(a: { method => ->(*) { raise KeyError, "mine" } }) do |request_once, _, way|
        error = error_of(Hecaton::FeatureError) { request_once.call(url("/r/1")) }
        assert_equal [KeyError, "mine"], [error.cause.class, error.cause.message], [method, way]
        assert_match(/Noting raised KeyError in #{method}: mine/, error.message)
      end
    end
    wrong = Noting.new([], :a, before_request: ->(request) { raise KeyError if request.url.end_with?("/r/1") })
    outcomes = client(features: [wrong]).get_all([url("/r/1"), url("/r/2")])
    assert_equal [Hecaton::FeatureError, Hecaton::Response], outcomes.map(&:class)
  end

  def test_an_error_of_hecatons_is_the_outcome_itself
    each_way(a: { before_request: ->(_) { raise Hecaton::ConnectError, "open" } }) do |request_once, notes, way|
      assert_equal "open", error_of(Hecaton::ConnectError) { request_once.call(url("/r/1")) }.message
      assert_equal %i[a after], notes.last, way
    end
  end

  def test_an_error_after_the_response_is_the_outcome
    [->(_) { raise Hecaton::BodyError, "no" }, ->(_) { Hecaton::BodyError.new("no") }].each do |after|
      each_way(a: { after: after }) do |request_once, _, way|
        assert_equal "no", error_of(Hecaton::BodyError) { request_once.call(url("/r/1")) }.message, way
      end
    end
  end

  def test_another_outcome_may_replace_it
    each_way(a: { after: ->(outcome) {
      Hecaton::Response.new(status: 299, body: outcome.class.name)
    } }) do |request_once, _, way|
      next if way == :stream || way == :parts # Their response was handed over before.

      assert_equal 299, request_once.call(url("/r/1")).status, way
      assert_equal [299, "Hecaton::ConnectError"],
        request_once.call("http://127.0.0.1:1/").then { |response| [response.status, response.body] }
    end
  end

  def test_a_value_of_another_kind_is_refused
    { before_request: 1, respond: "x", before_attempt: :no }.each do |method, value|
      each_way(a: { method => ->(*) { value } }) do |request_once, _, way|
        assert_kind_of TypeError,
          error_of(Hecaton::FeatureError) { request_once.call(url("/r/1")) }.cause, [method, way]
      end
    end
  end

  def test_each_attempt_is_seen_and_changed
    replies = {
      "/" => Scripted.response(302, "Location" => "/next"),
      "/next" => [Scripted.response(503), Scripted.response(200)].then { |list|
        ->(_) { list.size > 1 ? list.shift : list.first }
      }
    }
    seen = []
    numbering = lambda do |request, number|
      seen << [number, request.url[/[^:]*\z/].sub(/\A\d+/, ""), request.headers["user-agent"]]
      request.with(headers: { "x-number" => number.to_s,
                              "user-agent" => nil, "x-own" => nil, "accept" => "text/plain" })
    end
    WAYS.each_value do |request_once|
      replies["/next"] = [Scripted.response(503), Scripted.response(200)].then { |list|
        ->(_) { list.size > 1 ? list.shift : list.first }
      }
      Scripted.run(replies) do |server|
        client = client(redirects: 3, retry: { statuses: [503], interval: 0 },
          headers: { "x-own" => "1" }, user_agent: "me",
          features: [Noting.new([], :a, before_attempt: numbering)])
        response = request_once.call(client, "#{server.url}/")
        assert_equal 3, response.attempts.size
        requests = server.requests
        assert_equal %w[1 2 3], requests.map { |request| request[/x-number: (\d)/, 1] }
        assert_empty requests.grep(/x-own/)
        assert_equal ["text/plain"] * 3, requests.map { |request| request[/^accept: (.*?)\r/i, 1] }
        assert_equal [[1, "/", "me"], [2, "/next", "me"], [3, "/next", "me"]], seen.shift(3)
      end
    end
  end

  def test_an_attempt_can_not_change_more_than_headers
    wrong = [->(request, _) { request.with(body: "x") }, ->(request, _) { request.with(url: "http://elsewhere/") },
             ->(request, _) { request.with(http_method: :put) },
             ->(request, _) { request.with(headers: { "a" => "x\r\ny: z" }) }]
    wrong.each do |code|
      assert_raises(Hecaton::Error) { client(features: [Noting.new([], :a, before_attempt: code)]).get(url("/r/1")) }
    end
  end

  def test_an_attempt_can_change_fields_that_are_repeated
    { %w[1] => %w[1 2], %w[1 2] => %w[2 1], %w[2 1] => %w[1], [] => %w[1 2] }.each do |old, new|
      Scripted.run("/" => Scripted.response(200)) do |server|
        feature = Noting.new([], :a, before_attempt: ->(request, _) { request.with(headers: { "x-a" => new }) })
        client(features: [feature]).get("#{server.url}/", headers: { "x-a" => old })
        assert_equal new, server.requests.first.scan(/^x-a: (.*)\r/i).flatten, [old, new]
      end
    end
  end

  def test_attempts_before_an_exception_are_listed
    Scripted.run("/" => Scripted.response(503)) do |server|
      feature = Noting.new([], :a, before_attempt: ->(_, number) { raise KeyError if number == 2 })
      client = client(retry: { statuses: [503], interval: 0, max: 3 }, features: [feature])
      errors = [error_of(Hecaton::FeatureError) { client.get("#{server.url}/") },
                client.get_all(["#{server.url}/"]).first]
      errors.each { |error| assert_equal [[503], true], [error.attempts.map(&:status), error.sent?] }
    end
  end

  def test_the_deadline_counts_features
    slow = Noting.new([], :a, before_request: ->(_) { sleep(0.2) && nil })
    client = Hecaton::Client.new(timeout: 0.1, features: [slow])
    assert_equal :total, error_of(Hecaton::TimeoutError) { client.get(url("/r/1")) }.phase
    assert_equal :total, client.get_all([url("/r/1")]).first.phase
    response = client.get(url("/r/1"), timeout: 5)
    assert_operator response.elapsed, :>=, 0.2
    assert_operator response.attempts.first.begun, :>=, 0.2
    slow = Noting.new([], :a, before_attempt: ->(*) { sleep(0.2) && nil })
    assert_raises(Hecaton::TimeoutError) { Hecaton::Client.new(timeout: 0.1, features: [slow]).get(url("/r/1")) }
  end

  def test_a_response_that_a_feature_gives_too_late_is_none
    slow = ->(_) { sleep(0.2) && Hecaton::Response.new(status: 200) }
    sent = requests_of do
      each_way(a: { respond: slow }, settings: { timeout: 0.1 }) do |request_once, notes, way|
        assert_equal :total, error_of(Hecaton::TimeoutError) { request_once.call(url("/r/1")) }.phase, way
        assert_equal 1, notes.count(%i[a after]), way
      end
    end
    assert_equal 0, sent
  end

  def test_a_body_that_a_feature_gives_may_be_too_large
    %i[respond after].each do |method|
      give = ->(_) { Hecaton::Response.new(status: 200, body: "x" * 11) }
      [10, 11].each do |most|
        each_way(a: { method => give }, settings: { max_body: most }) do |request_once, _, way|
          next if most == 10 && way == :stream # Its reader may hold no more.
          next assert_equal 200, request_once.call(url("/bytes/1")).status if most == 11 || way == :parts

          error = error_of(Hecaton::BodyError) { request_once.call(url("/bytes/1?secret")) }
          assert_equal ["the body that a feature gave is larger than the allowed 10 bytes (#{url("/bytes/1")})", :read],
            [error.message, error.phase], way
        end
      end
    end
  end

  def test_notes_belong_to_one_sending
    seen = []
    feature = Noting.new([], :a, before_request: ->(request) { request.notes[:a] = request.notes.size },
      after: ->(outcome) { seen << outcome.request.notes })
    # The block's value is not a Request.
    feature.define_singleton_method(:before_request) { |request| request.notes[:a] = request.notes.size and nil }
    request = Hecaton::Request.new(:get, url("/r/1"))
    request.notes[:own] = 1
    client = client(features: [feature])
    2.times { client.request(request) }
    client.all([request, request])
    assert_equal [{ a: 0 }] * 4, seen
    assert_equal({ own: 1 }, request.notes)
    other = Noting.new([], :b, before_request: ->(given) { Hecaton::Request.new(:get, given.url) })
    client(features: [feature, other]).request(request)
    assert_equal({ a: 0 }, seen.last)
  end

  def test_an_outcome_shows_its_request_to_features_alone
    shown = []
    feature = Noting.new([], :a, after: ->(outcome) { shown << outcome.request && nil })
    response = client(features: [feature], logger: Logger.new(StringIO.new)).get(url("/r/1"))
    assert_equal [url("/r/1"), nil], [shown.first.url, response.request]
    assert_equal response, Marshal.load(Marshal.dump(response))
  end

  def test_what_is_cut_off_is_reported_too
    reported = []
    feature = Noting.new([], :a, after: ->(outcome) { reported << outcome.class && nil })
    client = client(features: [feature])
    assert_raises(IndexError) { client.get(url("/r/1")) { |_| raise IndexError } }
    assert_raises(ArgumentError) { client.get(url("/r/1"), headers: { "a b" => "c" }) }
    client.batch do |batch|
      batch.get(url("/delay/5"))
      batch.abort
      batch.get(url("/r/1")).on_complete { |_| batch.get(url("/delay/5")) && batch.abort }
    end
    assert_equal [Hecaton::Response, Hecaton::CancelledError, Hecaton::Response], reported
    thread = Thread.new { client.get("#{Silent.url}/") }
    wait_until { client.stats[:in_use] == 1 }
    thread.kill.join
    assert_equal Hecaton::CancelledError, reported.last
  end

  # A server that never says anything.
  module Silent
    def self.url = "http://127.0.0.1:#{(@server ||= TCPServer.new("127.0.0.1", 0)).local_address.ip_port}"
  end

  def test_what_cuts_off_one_feature_hides_the_outcome_from_no_other
    exits = { throw: -> { throw :out }, exception: -> { raise NoMemoryError }, kill: -> { Thread.current.kill } }
    exits.to_a.product(%i[before_request respond before_attempt after]).each do |(kind, leave), hook|
      each_way(%i[a b c], b: { hook => ->(*) { leave.call } }) do |request_once, notes, way|
        Thread.new { left { request_once.call(url("/r/1")) } }.join
        called = notes.map(&:first).uniq.map { |name| notes.count([name, :after]) }
        assert_equal [1], called.uniq, [kind, hook, way, notes]
      end
    end
  end

  def left(&block)
    catch(:out, &block)
  rescue NoMemoryError
    nil
  end

  def test_all_requests_of_a_batch_end_if_features_cut_off_each_of_them
    notes, pending = [], []
    features = [Noting.new(notes, :a), Noting.new([], :b, after: ->(_) { raise NoMemoryError })]
    assert_raises(NoMemoryError) do
      client(features: features).batch { |batch| 4.times { |number| pending << batch.get(url("/r/#{number}")) } }
    end
    assert_equal [4, [:a, :after] => 4], [pending.count(&:outcome), notes.tally.slice(%i[a after])]
  end

  def test_what_is_changed_after_a_request_was_queued_is_not_sent
    Scripted.run("/a" => Scripted.response(200)) do |server|
      url, value = +"#{server.url}/a", +"1"
      [nil, [Noting.new([], :a)]].each do |features|
        client(features: features).batch do |batch|
          batch.get(url)
          batch.get(url, headers: { "x-a" => value })
          url.sub!("/a", "/b")
          value << "2"
        end
        assert_equal ["", "1"], server.requests.map { |request| request[/^x-a: (.*)\r/, 1].to_s }.sort
        url, value = +"#{server.url}/a", +"1"
      end
    end
  end

  def test_a_feature_may_abort_the_batch
    %i[before_request respond].each do |hook|
      called, batch = [], nil
      aborting = Noting.new([], :a, hook => ->(_) { batch.abort })
      sent = requests_of do
        pending = []
        counts = client(features: [aborting]).batch do |given|
          batch = given
          2.times { pending << given.get(url("/r/1")).on_complete { |outcome| called << outcome } }
        end
        assert_equal [{ responses: 0, errors: 0 }, [Hecaton::CancelledError] * 2],
          [counts, pending.map { |each| each.outcome.class }], hook
      end
      assert_equal [0, []], [sent, called], hook
    end
  end

  # Three requests to which a feature responds, with callbacks that note what is called. Returns the notes, the counts
  # and the outcomes.
  def handed_over(&callback)
    called, pending, batch = [], [], nil
    given = ->(_) { Hecaton::Response.new(status: 203, body: "given") }
    note = ->(name, number) { called << [name, number] and callback.call(batch, name, number) }
    counts = client(features: [Noting.new([], :a, respond: given)]).batch do |made|
      batch = made
      pending = Array.new(3) do |number|
        made.get(url("/r/1")).on_headers { note.call(:head, number) }.on_body { note.call(:body, number) }
          .on_complete { note.call(:end, number) }
      end
    end
    [called, counts, pending]
  rescue RuntimeError => error
    [called, error.message, pending]
  end

  def test_a_response_of_a_feature_that_is_being_handed_over_may_abort_the_batch
    %i[head body end].each_with_index do |name, at|
      [->(batch) { batch.abort }, ->(_) { raise "left" }].each do |leave|
        called, result, pending = handed_over { |batch, each, _| leave.call(batch) if each == name }
        assert_equal %i[head body end].first(at + 1).product([0]), called, name
        assert_includes [{ responses: name == :end ? 1 : 0, errors: 0 }, "left"], result, name
        assert_equal [203] * 3, pending.map { |each| each.outcome.status }, name
      end
    end
  end

  def test_a_feature_that_receives_an_outcome_may_abort_the_batch
    batch, called = nil, []
    aborting = Noting.new([], :a, after: ->(_) { batch.abort })
    pending = []
    counts = client(features: [aborting]).batch do |made|
      batch = made
      2.times { pending << made.get(url("/r/1")).on_complete { called << made.size } }
    end
    assert_equal [[], { responses: 0, errors: 0 }, 2], [called, counts, pending.count(&:outcome)]
  end

  def test_what_a_feature_queues_behind_its_abort_is_sent
    batch, more = nil, nil
    aborting = Noting.new([], :a, before_request: ->(request) {
      (batch.abort || more = batch.get(url("/r/2"))) && nil if request.url.end_with?("/r/1")
    })
    client(features: [aborting]).batch do |given|
      batch = given
      batch.get(url("/r/1"))
    end
    assert_equal 200, more.outcome.status
  end

  def test_what_cannot_be_sent_is_the_outcome_of_its_request
    requests = [["a b", "1"], %w[a 1]].map { |name, value|
      Hecaton::Request.new(:get, url("/r/1"), headers: { name => value })
    }
    refused, sent = client(features: [Noting.new([], :a)]).all(requests)
    assert_equal [Hecaton::FeatureError, 200], [refused.class, sent.status]
    assert_match(/\Athe request cannot be sent: /, refused.message)
  end

  def test_a_head_that_is_handed_over_leaves_the_body_whole
    seen = []
    feature = Noting.new([], :a, before_request: ->(request) { seen << request.in_parts? and nil },
      after: ->(outcome) { seen << outcome.request.in_parts? << outcome.body.empty? and nil })
    client(features: [feature]).batch { |batch| batch.get(url("/r/1")).on_headers { |_| nil } }
    assert_equal [false, false, false], seen
  end

  # Short ways for requests with nothing or headers alone.
  def test_each_kind_of_request_goes_through_them
    Scripted.run("/" => Scripted.response(200)) do |server|
      client = client(features: [Noting.new([], :a, before_request: ->(request) {
        request.with(headers: { "x-f" => "1" })
      })])
      kinds = [[:get, {}], [:get, { headers: { "x-a" => "2" } }], [:delete, {}],
               [:post, { body: "b", headers: { "x-a" => "2" } }], [:put, { json: [1] }]]
      kinds.each do |verb, options|
        client.request(verb, "#{server.url}/", options)
        client.batch { |batch| batch.request(verb, "#{server.url}/", options) }
        client.batch { |batch| batch.add(Hecaton::Request.new(verb, "#{server.url}/", **options), queue: :front) }
        server.requests.shift(3).each do |request|
          assert_equal ["#{verb.to_s.upcase} /", "1", options.dig(:headers, "x-a")],
            [request[/\A\S+ \S+/], request[/^x-f: (.*)\r/, 1], request[/^x-a: (.*)\r/, 1]], [verb, options]
        end
      end
    end
  end

  def test_a_token_and_a_retry_predicate_work_beside_them
    reply = ->(request) { Scripted.response(request.include?("Bearer new") ? 200 : 401) }
    Scripted.run("/" => reply) do |server|
      WAYS.each_value do |request_once|
        tokens = %w[old new]
        numbers = []
        client = client(bearer: -> { tokens.size > 1 ? tokens.shift : tokens.first }, retry: { if: ->(_) { false } },
          features: [Noting.new([], :a, before_attempt: ->(_, number) { numbers << number && nil })])
        outcome = request_once.call(client, "#{server.url}/") rescue $!.response
        next if outcome.status == 401 # With on_body it stands.

        assert_equal [[401, 200], [1, 1]], [outcome.attempts.map(&:status), numbers]
      end
    end
  end

  def test_a_feature_may_set_a_token
    Scripted.run("/" => ->(request) { Scripted.response(request.include?("Bearer new") ? 200 : 401) }) do |server|
      tokens = []
      code = -> { tokens.size > 1 ? tokens.shift : tokens.first }
      each_way(a: { before_request: ->(request) { request.with(bearer: code) } }) do |request_once, notes, way|
        tokens = %w[old new]
        outcome = request_once.call("#{server.url}/") rescue $!.response
        expected = way == :parts ? [401] : [401, 200] # With on_body the first stands.
        assert_equal [expected, 1], [outcome.attempts.map(&:status), notes.count(%i[a after])], way
      end
    end
  end

  def test_many_by_each_response
    reported = []
    given = ->(request) { Hecaton::Response.new(status: 203) if request.url.end_with?("/r/2") }
    client = client(features: [Noting.new([], :a, respond: given, after: ->(outcome) {
      reported << outcome.status && nil
    })])
    statuses = []
    # With a block: the checker of types would go through an Enumerator once more.
    client.each_response([1, 2, 3, 2].map { |path| url("/r/#{path}") }, concurrency: 2) do |outcome, _|
      statuses << outcome.status
    end
    assert_equal [[200, 200, 203, 203]] * 2, [statuses.sort, reported.sort]
  end

  def test_lists_that_are_none
    [Object.new, "x", [Object.new], { a: 1 }].each { |wrong| assert_raises(ArgumentError) { client(features: wrong) } }
    assert_equal 200, client(features: []).get(url("/r/1")).status
    assert_equal 200, client(features: [Noting.new([], :a)]).with(features: nil).get(url("/r/1")).status
  end
end
