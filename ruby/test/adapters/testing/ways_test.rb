# Stubs respond to batches, streams, parts, events and redirects as the network would.
require "test_helper"
require "hecaton/testing/minitest"
require "timeout"

class WaysTest < Minitest::Test
  SITE = "http://api.test".freeze

  def client(**options) = Hecaton::Client.new(timeout: 5, **options)
  def urls(count) = Array.new(count) { |index| "#{SITE}/#{index}" }

  def test_lists
    Hecaton.stub(:get, /1\z/).returns(404)
    Hecaton.stub(:get, /2\z/).returns(Hecaton::TimeoutError)
    Hecaton.stub(:get, /0\z/) { |request| { body: request.url } }
    outcomes = client.get_all(urls(4))
    assert_equal [Hecaton::Response, Hecaton::Response, Hecaton::TimeoutError, Hecaton::Testing::UnmatchedRequest],
      outcomes.map(&:class)
    assert_equal ["#{SITE}/0", 404], [outcomes[0].body, outcomes[1].status]
    endless = Enumerator.new { |yielder| (0..).each { |index| yielder << "#{SITE}/#{index}0" } }
    stub = Hecaton.stub(:get, /0\z/)
    assert_equal 5, client.each_response(endless, concurrency: 2).first(5).size
    assert_operator stub.count, :<=, 6
  end

  def test_batches_and_their_callbacks
    Hecaton.stub(:get, "#{SITE}/ok").returns(headers: { "A" => "b" }, body: "whole")
    Hecaton.stub(:get, "#{SITE}/bad").returns(500)
    reported = []
    client.batch(concurrency: 1, per_origin: 1, rate: 1) do |batch|
      batch.get("#{SITE}/ok").on_success { |response| reported << [:ok, response.body] }.on_failure { flunk }
      batch.get("#{SITE}/bad").on_failure { |outcome|
        reported << [:bad, outcome.status] && batch.get("#{SITE}/ok").on_complete { reported << :queued_by_a_callback }
      }
      batch.get("#{SITE}/ok").on_headers { |head| reported << [head.headers["a"], head.body] }
        .on_body { |piece| reported << piece }.on_complete { |outcome| reported << outcome.body }
      batch.get("#{SITE}/ok", queue: :front).on_complete { reported << :first }
    end
    assert_equal [:first, [:ok, "whole"], [:bad, 500], ["b", ""], "whole", "", :queued_by_a_callback], reported
  end

  def test_abort_and_exceptions_in_callbacks
    stub = Hecaton.stub(:get)
    requests = []
    client.batch do |batch|
      requests = urls(3).map { |url| batch.get(url) }
      requests[1].on_complete { batch.abort }
    end
    assert_equal [2, [200, 200], Hecaton::CancelledError],
      [stub.count, requests.first(2).map { |each| each.outcome.status }, requests[2].outcome.class]
    assert_raises(IndexError) do
      client.batch do |batch|
        requests = urls(2).map { |url| batch.get(url) }
        requests[0].on_complete { raise IndexError }
      end
    end
    assert_equal [Hecaton::Response, Hecaton::CancelledError], requests.map { |each| each.outcome.class }
    late = nil
    client.batch { |batch| late = batch.get("#{SITE}/") }
    assert_raises(RuntimeError) { late.on_body { flunk } }
  end

  def test_bodies_in_pieces
    Hecaton.stub(:get).returns(Hecaton::Testing.response(pieces: ["one", "two", Hecaton::BodyError]))
    pieces = []
    error = assert_raises(Hecaton::BodyError) {
      client.get(SITE) { |stream| stream.each_chunk { |piece| pieces << piece } }
    }
    assert_equal [%w[one two], :read], [pieces, error.phase]
    assert_raises(Hecaton::BodyError) { client.get(SITE) }
    outcome = nil
    client.batch { |batch| batch.get(SITE).on_body { |piece| pieces << piece }.on_complete { |ended| outcome = ended } }
    assert_equal [%w[one two one two], Hecaton::BodyError], [pieces, outcome.class]
    Hecaton.stub(:get).returns(pieces: %w[a b])
    assert_equal ["ab", %w[a b]], [client.get(SITE).body, client.get(SITE) { |stream| stream.each_chunk.to_a }]
    assert_raises(ArgumentError) { Hecaton::Testing.response(pieces: [1]) }
    assert_raises(ArgumentError) { Hecaton::Testing.response(body: "", json: 1) }
  end

  def test_streams
    Hecaton.stub(:get).returns(status: 206, headers: { etag: "x" }, body: "text")
    seen = client.get("#{SITE}/a?b") do |stream|
      [stream.class, stream.status, stream.headers["etag"], stream.url,
       stream.http_method, stream.success?, stream.attempts.size, stream.each_chunk.to_a]
    end
    assert_equal [Hecaton::Stream, 206, "x", "#{SITE}/a?b", "GET", true, 1, ["text"]], seen
    stored = nil
    client.get(SITE) { |stream| stored = stream }
    assert_raises(RuntimeError) { stored.each_chunk { flunk } }
    Hecaton.stub(:get).returns(500)
    assert_raises(Hecaton::StatusError) { client(raise_for_status: true).get(SITE) { flunk } }
  end

  def test_what_is_made_by_hand
    stream = Hecaton::Testing.stream(status: 201, headers: { "A" => "b" },
      pieces: ["x", Hecaton::TimeoutError.new("late")])
    assert_equal [201, "b"], [stream.status, stream.headers["a"]]
    assert_equal "late",
      assert_raises(Hecaton::TimeoutError) { stream.each_chunk { |piece| assert_equal "x", piece } }.message
    assert_equal ["ab"], Hecaton::Testing.stream(Hecaton::Response.new(status: 200, body: "ab")).each_chunk.to_a
    good = Hecaton::Response.new(status: 200, headers: { "etag" => "x" }, body: "…")
    bad = Hecaton::TimeoutError.new("late", phase: :connect)
    assert_equal [[good, nil, true], [nil, bad, false]],
      [good, bad].map { |outcome| [outcome.response, outcome.error, outcome.success?] }
    full = Hecaton::Testing.response(json: 1, headers: { content_type: "a/b" },
      url: "http://x.test/", http_method: "PUT", elapsed: 1.5)
    Hecaton.stub(:get).returns(full)
    got = client.get(SITE)
    assert_equal ["a/b", "http://x.test/", "PUT", 1.5, full],
      [got.headers["content-type"], got.url, got.http_method, got.elapsed, got]
  end

  def test_events_deprecation_and_cookies
    reported = []
    subscription = Hecaton.subscribe { |event|
      reported << [event.name, event.payload["http.response.status_code"], event.payload["error.type"]]
    }
    Hecaton.stub(:get).returns({ headers: { "Deprecation" => "@1", "Set-Cookie" => "a=1" } }, Hecaton::ConnectError)
    own = client(cookies: true, on_deprecation: ->(response) { reported << response.deprecation })
    own.get("#{SITE}/")
    assert_raises(Hecaton::ConnectError) { own.get("#{SITE}/") }
    assert_equal [["attempt.hecaton", 200, nil], ["request.hecaton", 200, nil], Time.at(1),
                  ["attempt.hecaton", nil, "Hecaton::ConnectError"],
                  ["request.hecaton", nil, "Hecaton::ConnectError"]], reported
    assert_equal ["a=1", 1], [Hecaton::Testing.requests.last.headers["cookie"], own.cookies.size]
  ensure
    subscription&.unsubscribe
  end

  def test_redirects
    Hecaton.stub(:post, "#{SITE}/a").returns(status: 303, headers: { location: "/b" })
    Hecaton.stub(:get, "#{SITE}/b").returns("there")
    assert_equal [303, "there"], [client.post("#{SITE}/a").status, client(redirects: 1).post("#{SITE}/a").body]
    assert_raises(Hecaton::RedirectError) {
      Hecaton.stub(:get, "#{SITE}/b").returns(status: 302, headers: { location: "/b" }) &&
        client(redirects: 9).get("#{SITE}/b")
    }
  end

  def test_fibers_forks_and_thread_kills
    stub = Hecaton.stub(:get).returns("reply")
    assert_equal "reply", Fiber.new { client.get(SITE).body }.resume
    reading, writing = IO.pipe
    Process.wait(fork { writing.write(client.get(SITE).body) && exit!(0) })
    writing.close
    assert_equal ["reply", 1], [reading.read, stub.count]
    started = Queue.new
    Hecaton.stub(:get) { started << true && sleep }
    request = nil
    thread = Thread.new { client.batch { |batch| request = batch.get(SITE) } }
    started.pop
    thread.kill.join
    assert_instance_of Hecaton::CancelledError, request.outcome
    assert_raises(Timeout::Error) { Timeout.timeout(0.05) { client.get(SITE) } }
  end
end
