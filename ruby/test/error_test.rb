# Every failure says what, in which phase, after how long, and whether the request was sent.
require "test_helper"

class ErrorTest < ServerTest
  def test_total_timeout_holds_once_and_says_where_the_time_went
    real_server = TestServer.new
    sent = 0
    error = with_growing(0.3) do |limit|
      late = error_of(Hecaton::TimeoutError) { client.get("#{real_server.url}/fault/stall-head", timeout: limit) }
      assert_equal :total, late.phase
      assert_operator late.elapsed, :>=, limit
      sent += 1 if late.sent?
      late if late.attempts.last.phase == :first_byte
    end
    assert error.sent?
    wait_until { real_server.arrived >= sent } # The test server may not have seen yet that it was given up.
    assert_equal sent, real_server.stop.values_at("requests", "aborted").sum, "none but these behind our back"
  end

  def test_a_dripping_body_does_not_defeat_the_total
    with_growing(0.5) do |limit|
      error = error_of(Hecaton::TimeoutError) { client.get(url("/fault/drip"), timeout: limit) }
      assert_equal :total, error.phase
      error.attempts.last.phase == :read
    end
  end

  def test_connect_timeout
    # A listener whose queue is full leaves connections unanswered, as a lost host would.
    Socket.tcp_server_sockets("127.0.0.1", 0) do |(server)|
      server.listen(0)
      port = server.local_address.ip_port
      fillers = Array.new(4) {
        Socket.new(:INET, :STREAM).tap { |s|
          s.connect_nonblock(Socket.sockaddr_in(port, "127.0.0.1"), exception: false)
        }
      }
      error = error_of(Hecaton::TimeoutError) { client(connect_timeout: 0.2).get("http://127.0.0.1:#{port}/") }
      assert_equal :connect, error.phase
      refute error.sent?
      assert_operator error.elapsed, :>=, 0.2
    ensure
      fillers&.each(&:close)
    end
  end

  def test_each_phase_has_a_limit_of_its_own
    { first_byte_timeout: "stall-head", read_timeout: "stall-body" }.each do |setting, fault|
      error = error_of(Hecaton::TimeoutError) { client(**{ setting => 0.2 }).get(url("/fault/#{fault}")) }
      assert_equal setting.to_s.delete_suffix("_timeout").to_sym, error.phase
      assert_equal 1, error.attempts.size
      assert_operator error.elapsed, :>=, 0.2
    end
  end

  # docs/errors.md: the total deadline, the limit of a phase, what the network said.
  def test_when_the_total_and_a_phase_end_at_once_the_total_is_reported
    { first_byte: "stall-head", read: "stall-body" }.each do |phase, fault|
      client = client(timeout: 0.05, "#{phase}_timeout": 0.05)
      10.times do
        error = error_of(Hecaton::TimeoutError) { client.get(url("/fault/#{fault}")) }
        assert_equal :total, error.phase
      end
    end
  end

  def test_refused_connection
    port = closed_port
    error = error_of(Hecaton::ConnectError) { client.get("http://127.0.0.1:#{port}/path?secret=1") }
    assert_equal :connect, error.phase
    refute error.sent?
    assert_match(/refused/i, error.message)
    refute_match(/secret/, error.message)
    assert_equal "http://127.0.0.1:#{port}/path", error.url
  end

  def test_the_cause_is_what_the_operating_system_said
    port = closed_port
    refused = error_of(Hecaton::ConnectError) { client.get("http://127.0.0.1:#{port}/") }
    assert_kind_of Errno::ECONNREFUSED, refused.cause
    assert_match(/ECONNREFUSED/, refused.full_message)
    reset = error_of(Hecaton::ProtocolError) { client.get(url("/fault/reset")) }
    assert_kind_of Errno::ECONNRESET, reset.cause
    client.batch { |batch|
      batch.get("http://127.0.0.1:#{port}/").on_complete { |outcome| assert_kind_of Errno::ECONNREFUSED, outcome.cause }
    }
    assert_nil error_of(Hecaton::TimeoutError) { client.get(url("/fault/stall-head"), timeout: 0.1) }.cause
    raise "outer"
  rescue RuntimeError => outer
    assert_same outer, error_of(Hecaton::BodyError) { client.get(url("/fault/truncate")) }.cause
  end

  def test_the_reason_is_one_of_the_documented_ones
    documented = File.read(File.expand_path("../../docs/errors.md", __dir__))
      .scan(/^\| `:(\w+)` \|/).flatten.map(&:to_sym)
    reasons = {
      "http://127.0.0.1:#{closed_port}/" => :connection_refused, url("/fault/close") => :connection_closed,
      url("/fault/truncate") => :body_cut_short, "ftp://host/" => :scheme_unsupported, "no scheme" => nil
    }
    outcomes = client.get_all(reasons.keys)
    assert_equal reasons.values, outcomes.map(&:reason)
    assert_empty reasons.values.compact - documented
    assert_equal :body_too_large, error_of(Hecaton::BodyError) { client(max_body: 5).get(url("/bytes/1000")) }.reason
    assert_nil error_of(Hecaton::TimeoutError) { client.get(url("/fault/stall-head"), timeout: 0.1) }.reason
    assert_nil Hecaton::Error.new("made by hand").reason
    assert_equal :body_cut_short, Hecaton::BodyError.new(reason: :body_cut_short).deconstruct_keys([:reason])[:reason]
  end

  def test_an_invalid_url_has_a_class_of_its_own
    { "ftp://host/" => :scheme_unsupported, "no scheme" => nil, nil => nil }.each do |bad, reason|
      error = assert_raises(Hecaton::InvalidURL) { client.get(bad) }
      assert_kind_of ArgumentError, error
      reason.nil? ? assert_nil(error.reason) : assert_equal(reason, error.reason)
      assert_match(/\AURL /, error.message)
    end
  end

  def test_unknown_host
    error = error_of(Hecaton::ResolveError) { client.get("http://does-not-exist.invalid/") }
    assert_equal [:resolve, false], [error.phase, error.sent?]
  end

  def test_a_short_body_is_an_error
    %w[truncate truncate-chunked].each do |fault|
      error = error_of(Hecaton::BodyError) { client.get(url("/fault/#{fault}")) }
      assert_equal :read, error.phase
      assert error.sent?
      assert_equal [200, :failed], [error.attempts.last.status, error.attempts.last.ending], "the head had come"
      assert_match(/status 200 had begun/, error.message)
    end
  end

  def test_a_connection_that_breaks
    %w[reset close garbage].each do |fault|
      error = error_of(Hecaton::ProtocolError) { client.get(url("/fault/#{fault}")) }
      assert_equal :first_byte, error.phase, fault
      assert error.sent?
      assert_equal fault == "garbage" ? 1 : 2, error.attempts.size, fault
    end
  end

  def test_an_endless_head_is_an_error
    assert_kind_of Hecaton::Error, error_of(Hecaton::ProtocolError) { client.get(url("/fault/huge-head")) }
  end

  def test_a_body_over_the_cap
    assert_equal 1000, client(max_body: 1000).get(url("/bytes/1000")).body.bytesize
    error = error_of(Hecaton::BodyError) { client(max_body: 999).get(url("/bytes/1000")) }
    assert_match(/999 bytes/, error.message)
    assert_raises(Hecaton::BodyError) { client(max_body: 20).get(url("/chunked/100")) }
  end

  def test_errors_are_one_tree
    names = %i[TimeoutError ConnectError ResolveError TLSError ProtocolError
               BodyError RedirectError StatusError CancelledError ForkError]
    names.each { |name| assert_operator Hecaton.const_get(name), :<, Hecaton::Error }
    assert_operator Hecaton::Error, :<, StandardError
  end

  def test_every_error_has_the_same_facts
    strict = { redirects: 1, raise_for_status: true }
    { "stall-head" => [Hecaton::TimeoutError, :total], "reset" => [Hecaton::ProtocolError, :first_byte],
      "truncate" => [Hecaton::BodyError, :read], "/redirect/302/2" => [Hecaton::RedirectError, :read],
      "/status/404" => [Hecaton::StatusError, :read] }.each do |path, (klass, phase)|
      path = "/fault/#{path}" unless path.start_with?("/")
      error = with_growing(klass == Hecaton::TimeoutError ? 0.3 : 60) do |limit|
        failed = error_of(klass) { client(**strict).get(url("#{path}?token=hush"), timeout: limit) }
        failed if failed.sent?
      end
      assert_equal [phase, true, real_server.url], [error.phase, error.sent?, error.url[%r{\Ahttp://[^/]+}]]
      assert_kind_of Float, error.elapsed
      assert_operator error.attempts.size, :>=, 1
      refute_match(/hush/, [error.full_message, error.inspect, error.url].map(&:b).join, path)
    end
  end
end
