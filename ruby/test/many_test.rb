# All at once as a list, and one by one as they come.
require "test_helper"
require "timeout"

class ManyTest < ServerTest
  def test_get_all_returns_every_outcome_in_the_order_of_the_urls
    paths = %w[/delay/100 /r/1 /fault/close /status/404 /delay/50]
    outcomes = client.get_all(paths.map { |path| url(path) }, concurrency: 5, timeout: 3)
    assert_equal [200, 200, nil, 404, 200], outcomes.map { |outcome| outcome.response&.status }
    assert_kind_of Hecaton::ProtocolError, outcomes[2].error
  end

  def test_get_all_keeps_to_its_concurrency_and_passes_options_on
    own = TestServer.new
    outcomes = client.get_all(Array.new(30) { |id| "#{own.url}/echo?#{id}" }.each,
      concurrency: 3, headers: { "x-a" => "1" })
    bodies = outcomes.map { |outcome| JSON.parse(outcome.response.body) }
    assert_equal Array.new(30) { |id| "/echo?#{id}" }, bodies.map { |body| body["target"] || body["path"] }
    assert(bodies.all? { |body| body["headers"].include?(%w[x-a 1]) })
    assert_operator own.ledger["peak_in_flight"], :<=, 3
  ensure
    own&.stop
  end

  def test_the_timeout_of_get_all_is_that_of_each_request
    with_growing(1.1) do |limit|
      # All together take longer than one may.
      delay = url("/delay/#{(limit * 100).ceil}")
      outcomes = client.get_all([delay] * 12, concurrency: 1, timeout: limit)
      outcomes.all?(&:response)
    end
  end

  def test_get_all_sends_nothing_when_an_option_is_bad
    sent = requests_of do
      assert_raises(ArgumentError) { client.get_all([url("/r/1")], colour: "blue") }
      assert_raises(ArgumentError) { client.get_all([url("/r/1")], concurrency: 0) }
    end
    assert_equal 0, sent
    assert_equal [], client.get_all([])
  end

  def test_all_sends_requests_of_mixed_methods_and_returns_their_outcomes_in_order
    list = [[:get, url("/delay/50")], [:post, url("/echo"), { json: { a: 1 }, headers: { "x-a" => "own" } }],
            ["DELETE", url("/echo"), nil],
            [:get, url("/fault/close")], [:put, "no url"]]
    outcomes = client.all(list.each, concurrency: 2, headers: { "x-a" => "all" }, raise_for_status: true)
    assert_equal [200, 200, 200, nil, nil], outcomes.map { |outcome| outcome.response&.status }
    seen = outcomes[1, 2].map(&:json)
    assert_equal [%w[POST own], %w[DELETE all]],
      seen.map { |echo| [echo["method"], echo["headers"].to_h.transform_keys(&:downcase)["x-a"]] }
    assert_equal '{"a":1}', seen.first["body"]
    assert_equal [Hecaton::ProtocolError, Hecaton::URLError], outcomes.last(2).map(&:class)
    assert_raises(Hecaton::ProtocolError) { outcomes[3].raise_for_status }
    assert_equal [], client.all([])
  end

  def test_a_bad_entry_is_named_and_nothing_is_sent
    sent = requests_of do
      { [[:get, url("/r/1")], url("/r/2")] => /request 1 of the list is not a Hecaton::Request, \[method, url\]/,
        [[:get]] => /request 0/, [[url("/r/1"), {}]] => /request 0/,
        [[:get, url("/r/1"), 5]] => /request 0/, [[:get, url("/r/1"), {}, 1]] => /request 0/,
        [[:get, url("/r/1"), { colour: 1 }]] => /colour/ }.each do |bad, message|
        assert_match message, error_of(ArgumentError) { client.all(bad) }.message
      end
      assert_match(/request 0/, error_of(ArgumentError) { client.post_all([[url("/echo"), {}, 1]]) }.message)
    end
    assert_equal 0, sent
  end

  def test_lists_of_one_method
    %w[head post put patch delete].each do |verb|
      outcomes = client.public_send("#{verb}_all", [[url("/echo"), { headers: { "x-a" => "1" } }], url("/echo")],
        concurrency: 1, body: ("x" unless verb == "head"))
      assert_equal [[200, verb.upcase]] * 2, outcomes.map { |outcome| [outcome.status, outcome.http_method] }
      next if verb == "head"

      assert_equal [[verb.upcase, "x", "1"], [verb.upcase, "x", nil]], outcomes.map(&:json).map { |echo|
        [echo["method"], echo["body"], echo["headers"].to_h.transform_keys(&:downcase)["x-a"]]
      }
    end
  end

  def test_each_response_yields_every_outcome_with_its_url
    urls = Array.new(40) { |id| url("/r/#{id}") } << url("/fault/close")
    seen = {}
    assert_nil(client.each_response(urls, concurrency: 7) { |outcome, url| seen[url] = outcome.response&.status })
    assert_equal urls.to_h { |one| [one, one.end_with?("close") ? nil : 200] }, seen
  end

  def test_each_response_yields_what_ends_first_first
    order = []
    client.each_response([url("/delay/300"), url("/r/1")]) { |_, url| order << url[/\d+\z/] }
    assert_equal %w[1 300], order
  end

  # The server's log shows how many requests the block has let through.
  def test_reading_slowly_stops_the_queue
    own = TestServer.new
    endless = (1..).lazy.map { |id| "#{own.url}/r/#{id}" }
    requested = 0
    counted = Enumerator.new { |urls| endless.each { |url| urls << url.tap { requested += 1 } } }
    read = 0
    ahead = []
    client.each_response(counted, concurrency: 5) do
      read += 1
      sleep 0.005
      ahead << [requested, own.ledger["requests"]].max - read
      break if read == 40
    end
    assert_operator ahead.max, :<=, 5
    assert_operator ahead.max, :>, 0
    assert_operator own.ledger["peak_in_flight"], :<=, 5
  ensure
    own&.stop
  end

  def test_leaving_early_closes_what_is_in_flight
    own = TestServer.new
    client = client()
    urls = ["#{own.url}/r/1"] + Array.new(3) { "#{own.url}/fault/stall-head" }
    [
      -> { client.each_response(urls) { break } },
      -> { assert_raises(RuntimeError) { client.each_response(urls) { raise "stop" } } },
      -> { assert_raises(Timeout::Error) { Timeout.timeout(0.3) { client.each_response(urls.drop(1)) { flunk } } } }
    ].each do |leave|
      leave.call
      wait_until { own.ledger["connections_open"] <= 2 } # That of this request, and an idle one.
      assert_operator own.ledger["connections_open"], :<=, 2
    end
  ensure
    own&.stop
  end

  def test_other_requests_may_be_made_between_two_of_each_response
    client = client()
    statuses = []
    client.each_response(Array.new(5) { |id| url("/r/#{id}") }, concurrency: 2) do |outcome, _|
      statuses << outcome.status << client.get(url("/r/9")).status
    end
    assert_equal [200] * 10, statuses
  end

  def test_a_limit_for_each_origin_and_a_rate_hold_here_too
    begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    outcomes = client.get_all(Array.new(10) { url("/r/1") }, rate: 40, per_origin: 2)
    assert_equal [nil] * 10, outcomes.map(&:error)
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun, :>=, 0.22
    count = 0
    client.each_response(Array.new(10) { url("/r/1") }, rate: 40) { count += 1 }
    assert_equal 10, count
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun, :>=, 0.44
  end
end
