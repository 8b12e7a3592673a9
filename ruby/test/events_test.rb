# Events: one for each request and each attempt, whatever sent it, and none of them costs an outcome.
require "test_helper"
require "scripted"

class EventsTest < ServerTest
  # Those of one block. Tests of this process run one after the other.
  def events(pattern = nil)
    seen = []
    subscription = Hecaton.subscribe(pattern) { |event| seen << event }
    yield
    seen
  ensure
    subscription&.unsubscribe
  end

  def port = URI(real_server.url).port

  def test_a_request_and_its_attempt
    client = client()
    before = Time.now
    attempt, request = events { client.get(url("/delay/30?secret=1#x")) }
    assert_equal %w[attempt.hecaton request.hecaton], [attempt.name, request.name]
    shared = {
      "http.request.method" => "GET", "http.response.status_code" => 200, "network.protocol.name" => "http",
      "network.protocol.version" => "1.1", "url.full" => url("/delay/30"), "url.scheme" => "http",
      "server.address" => "127.0.0.1", "server.port" => port
    }
    assert_equal shared.merge("hecaton.attempts" => 1, "hecaton.redirects" => 0), request.payload
    assert_equal shared.merge("hecaton.connection" => 1, "hecaton.reused" => false, "hecaton.sent" => true,
      "hecaton.phase" => "read", "hecaton.ending" => "status"), attempt.payload
    assert_equal attempt.id, request.id
    assert_operator request.duration, :>=, 30
    assert_operator attempt.duration, :<=, request.duration
    assert_operator request.started, :>=, before
    assert_equal [request.time, request.end, request.transaction_id], [request.started, request.finished, request.id]
    refute_equal request.id, events { client.get(url("/r/1")) }.last.id
  end

  def test_failures_report_their_type
    attempt, request = events { assert_raises(Hecaton::BodyError) { client.get(url("/fault/truncate?secret=1")) } }
    assert_equal ["Hecaton::BodyError"] * 2, [attempt, request].map { |event| event.payload["error.type"] }
    assert_equal ["failed", "read"], attempt.payload.values_at("hecaton.ending", "hecaton.phase")
    error = request.payload[:exception_object]
    assert_equal ["Hecaton::BodyError", error.message], request.payload[:exception]
    refute_match(/secret/, request.payload.inspect)
    missing = events { client.get(url("/status/404")) }.last.payload
    assert_equal ["404", 404, nil], missing.values_at("error.type", "http.response.status_code", :exception)
    strict = events {
      assert_raises(Hecaton::StatusError) { client.get(url("/status/500"), raise_for_status: true) }
    }.last.payload
    assert_equal ["500", 500, "Hecaton::StatusError"],
      [*strict.values_at("error.type", "http.response.status_code"), strict[:exception].first]
  end

  def test_a_timeout_and_an_odd_method
    request = events("request.hecaton") do
      assert_raises(Hecaton::TimeoutError) { client.request("BREW", url("/fault/stall-head"), timeout: 0.1) }
    end.last
    assert_equal ["_OTHER", "BREW", "Hecaton::TimeoutError"],
      request.payload.values_at("http.request.method", "http.request.method_original", "error.type")
    assert_operator request.duration, :>=, 100
  end

  def test_every_retry_is_an_attempt
    retried = client(retry: { statuses: [503], interval: 0.05, jitter: 0 })
    *attempts, request = events { retried.get(url("/status/503")) }
    assert_equal [nil, 1, 2], attempts.map { |event| event.payload["http.request.resend_count"] }
    assert_equal ["503"] * 4, [*attempts, request].map { |event| event.payload["error.type"] }
    attempts.each_cons(2) { |first, second| assert_operator second.started - first.finished, :>=, 0.04 }
    assert_equal 3, request.payload["hecaton.attempts"]
    again = client(retry: { interval: 0.001 })
    *failed, _request = events { assert_raises(Hecaton::BodyError) { again.get(url("/fault/truncate")) } }
    assert_equal ["_OTHER", "_OTHER", "Hecaton::BodyError"], failed.map { |event| event.payload["error.type"] }
  end

  def test_every_hop_is_an_attempt_with_its_own_url
    Scripted.run({ "/a?secret=1" => Scripted.response(302, "Location" => url("/r/1?secret=2")) }) do |server|
      first, second, request = events { client(redirects: 1).get("#{server.url}/a?secret=1") }
      assert_equal ["#{server.url}/a", url("/r/1"), "#{server.url}/a"],
        [first, second, request].map { |event| event.payload["url.full"] }
      assert_equal [302, 200, 200], [first, second, request].map { |event| event.payload["http.response.status_code"] }
      assert_equal [1, 1], [request.payload["hecaton.redirects"], second.payload["http.request.resend_count"]]
      small = client(redirects: 1, max_body: 0)
      first, second, failed = events { assert_raises(Hecaton::BodyError) { small.get("#{server.url}/a?secret=1") } }
      assert_equal ["#{server.url}/a", url("/r/1"), "#{server.url}/a"],
        [first, second, failed].map { |event| event.payload["url.full"] }
      assert_equal [nil, "Hecaton::BodyError"], [first, second].map { |event| event.payload["error.type"] }
      refute_match(/secret/, failed.payload.inspect)
    end
  end

  def test_every_hop_is_an_attempt_with_its_own_method
    { ["POST", 302] => "GET", ["POST", 303] => "GET",
      ["PUT", 303] => "GET", ["PUT", 302] => "PUT", ["HEAD", 303] => "HEAD",
      ["POST", 307] => "POST", ["POST", 301] => "GET" }.each do |(method, status), after|
      Scripted.run({ "/a" => Scripted.response(status, "Location" => "/b"),
        "/b" => Scripted.response(307, "Location" => "/c"),
                     "/c" => Scripted.response(200) }) do |server|
        sent = nil
        named = events { sent = client(redirects: 2).request(method, "#{server.url}/a") }.map { |event|
          event.payload["http.request.method"]
        }
        assert_equal [method, after, after, method], named, "#{method} #{status}"
        assert_equal after, sent.http_method
      end
    end
  end

  def test_a_connection_that_had_to_be_left
    play = lambda do |connection|
      connection.gets("\r\n\r\n")
      connection.write(Scripted.response(200))
    end
    peer = Peer.new(play, TCPServer.new("127.0.0.1", 0))
    client = client()
    client.get(peer.url)
    sleep 0.1
    all = events { client.get(peer.url) }
    outcome = all.last.payload
    assert_equal all.size - 1, outcome["hecaton.attempts"]
    assert_equal 200, outcome["http.response.status_code"]
  ensure
    peer&.stop
  end

  def test_an_attempt_that_was_re_sent_is_reported_without_a_response
    resent = Hecaton::Attempt.new(connection: 1, reused: true,
      sent: false, phase: :send, ending: :resent, version: "1.1",
      redirects: 0, begun: 0.0, ended: 0.1)
    responded = Hecaton::Attempt.new(connection: 2, reused: false,
      sent: true, phase: :read, ending: :status, status: 200,
      version: "2", redirects: 0, begun: 0.1, ended: 0.3)
    response = Hecaton::Response.new(status: 200,
      url: "https://[::1]/x?secret", attempts: [resent, responded], elapsed: 0.3)
    first, second, request = events { Hecaton::Events.request(:GET, response) }
    assert_equal ["_OTHER", "resent", false], first.payload.values_at("error.type", "hecaton.ending", "hecaton.sent")
    assert_equal [nil, 1, "2"],
      second.payload.values_at("error.type", "http.request.resend_count", "network.protocol.version")
    assert_equal ["::1", 443, "https", "https://[::1]/x"],
      request.payload.values_at("server.address", "server.port", "url.scheme", "url.full")
    assert_in_delta 100, first.duration, 1
    assert_in_delta 0.1, second.started - request.started, 0.001
  end

  def test_batches_and_streams_publish_too
    seen = events("request.hecaton") do
      client.batch do |batch|
        batch.get(url("/r/1"))
        batch.post(url("/fault/close"))
      end
      client.get(url("/bytes/10")) { |stream| stream.each_chunk { |chunk| chunk } }
      assert_raises(Hecaton::BodyError) {
        client.get(url("/fault/truncate")) { |stream| stream.each_chunk { |chunk| chunk } }
      }
      client.get(url("/bytes/1000000")) { |_stream| nil }
    end
    facts = seen.map { |event|
      event.payload.values_at("http.request.method", "http.response.status_code", "error.type")
    }
    assert_equal [["GET", 200, nil], ["POST", nil, "Hecaton::ProtocolError"]], facts.first(2).sort_by(&:first)
    assert_equal [["GET", 200, nil], ["GET", nil, "Hecaton::BodyError"], ["GET", 200, nil]], facts.drop(2)
  end

  def test_the_time_of_a_stream_is_that_of_the_network
    before = Time.now
    request = events("request.hecaton") do
      client.get(url("/bytes/10")) { |stream| stream.each_chunk { |chunk| chunk }; sleep 0.3 }
    end.last
    assert_operator request.started, :>=, before
    assert_operator request.duration, :<=, (Time.now - before - 0.3) * 1000
  end

  def test_a_stream_that_another_thread_still_reads_publishes_too
    reader = nil
    seen = events("request.hecaton") do
      value = client.get(url("/pieces/50/100/500")) do |response|
        reader = Thread.new { assert_raises(Hecaton::CancelledError) { response.each_chunk { Thread.pass } } }
        wait_until { reader.stop? }
        :block
      end
      assert_equal :block, value
    end
    assert_equal [200], seen.map { |event| event.payload["http.response.status_code"] }
    reader.join
  end

  def test_an_event_comes_before_the_callback_and_after_the_outcome
    order = []
    subscription = Hecaton.subscribe("request.hecaton") { order << :event }
    client.batch { |batch| batch.get(url("/r/1")).on_complete { order << :callback } }
    assert_equal %i[event callback], order
  ensure
    subscription&.unsubscribe
  end

  def test_a_subscriber_that_raises_costs_nobody_anything
    broken = Hecaton.subscribe { raise IndexError, "broken" }
    outcomes = []
    _out, said = capture_io do
      assert_equal(2, events { assert_equal 200, client.get(url("/r/1")).status }.size)
      client.batch { |batch| 3.times { batch.get(url("/r/1")).on_complete { |outcome| outcomes << outcome.status } } }
    end
    assert_equal [200] * 3, outcomes
    assert_match(/hecaton: a subscriber of request\.hecaton raised IndexError: broken \(.*events_test/, said)
  ensure
    broken&.unsubscribe
  end

  def test_patterns_and_the_end_of_a_subscription
    assert_equal(%w[attempt.hecaton], events(/\Aattempt/) { client.get(url("/r/1")) }.map(&:name))
    assert_equal([], events("attempt") { client.get(url("/r/1")) })
    refute Hecaton::Events.subscribed?
    assert_raises(ArgumentError) { Hecaton.subscribe }
    assert_raises(ArgumentError) { Hecaton.subscribe(:request) { nil } }
  end

  # As ActiveSupport::Notifications is since Rails 7, and as it was before.
  Since7 = Struct.new(:seen) {
    def publish_event(event) = seen << [event.name, event.time, event.end, event.transaction_id, event.payload]
  }
  Before7 = Struct.new(:seen) { def publish(name, *facts) = seen << [name, *facts] }

  def test_a_sink_in_the_shape_of_active_support
    [Since7, Before7].each do |kind|
      Hecaton.instrumenter = sink = kind.new([])
      client.get(url("/r/1"))
      assert_same sink, Hecaton.instrumenter
      assert_equal %w[attempt.hecaton request.hecaton], sink.seen.map(&:first)
      assert_equal [Time, Time, String, Hash], sink.seen.last.drop(1).map(&:class)
      Hecaton.instrumenter = nil
      client.get(url("/r/1"))
      assert_equal 2, sink.seen.size
    end
    assert_match(/neither publish_event nor publish/,
      error_of(ArgumentError) { Hecaton.instrumenter = Object.new }.message)
    refute Hecaton::Events.subscribed?
  end

  def test_subscribing_while_threads_send
    stop = false
    requesting = Array.new(4) { Thread.new { client.get(url("/r/1")) until stop } }
    all = Array.new(50) { events { Thread.pass } }
    stop = true
    requesting.each(&:join)
    assert_equal 50, all.size
    refute Hecaton::Events.subscribed?
  end
end
