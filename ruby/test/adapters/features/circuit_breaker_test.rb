# The circuit breaker: closed, open, half open, by origin, in single requests and batches.
require "test_helper"
require "scripted"
require "hecaton/features/circuit_breaker"

class CircuitBreakerTest < ServerTest
  def breaker(**options) = @breaker = Hecaton::Features::CircuitBreaker.new(failures: 2, cooldown: 60, **options)

  # A server whose responses have this status until it changes here.
  def serve
    @status = 500
    Scripted.run("/" => ->(_) { Scripted.response(@status) }) { |server| yield "#{server.url}/", server }
  end

  # As if the cool-down had passed.
  def cool_down
    @breaker.instance_variable_get(:@circuits).each_value { |circuit| circuit.opened -= 61 }
  end

  def state(url) = @breaker.stats.dig(Hecaton::Request.origin_of(url), :state)

  def test_it_opens_after_failures_in_a_row_and_closes_after_a_success
    serve do |url, server|
      client = client(features: [breaker])
      2.times { client.get(url) }
      assert_equal :open, state(url)
      error = error_of(Hecaton::CircuitOpenError) { client.get(url) }
      assert_equal [false, 2], [error.sent?, server.requested.size]
      assert_equal({ state: :open, failures: 2, refused: 1 }, @breaker.stats.values.first)
      cool_down
      assert_equal :half_open, state(url)
      assert_equal 500, client.get(url).status
      assert_equal :open, state(url)
      cool_down
      @status = 200
      assert_equal 200, client.get(url).status
      assert_empty @breaker.stats
    end
  end

  def test_a_success_between_begins_anew_and_other_origins_are_their_own
    serve do |url|
      client = client(features: [breaker])
      client.get(url)
      @status = 200
      client.get(url)
      @status = 500
      client.get(url)
      assert_equal :closed, state(url)
      client.get(url)
      assert_equal :open, state(url)
      assert_equal 200, client.get(url("/r/1")).status
    end
  end

  def test_one_request_is_the_trial
    serve do |url|
      client = client(features: [breaker])
      2.times { client.get(url) }
      cool_down
      @status = 200
      request = Hecaton::Request.new(:get, url).prepared(nil)
      assert_nil @breaker.before_attempt(request, 1)
      assert_nil @breaker.before_attempt(request, 2)
      assert_raises(Hecaton::CircuitOpenError) { client.get(url) }
      cool_down
      @breaker.instance_variable_get(:@circuits).each_value { |circuit| circuit.trial[1] -= 61 }
      assert_equal 200, client.get(url).status
    end
  end

  def test_a_redirect_to_another_origin_is_a_success_of_the_first
    serve do |url, server|
      client = client(redirects: 1, features: [breaker])
      2.times { client.get(url) }
      cool_down
      server.instance_variable_get(:@responses)["/"] = Scripted.response(302, "Location" => url("/r/1"))
      2.times { assert_equal 200, client.get(url).status }
      assert_empty @breaker.stats
    end
  end

  def test_a_redirect_to_an_open_origin_ends_the_trial_of_the_first
    serve do |other|
      Scripted.run("/" => Scripted.response(500)) do |server|
        client = client(redirects: 1, features: [breaker])
        2.times { client.get("#{server.url}/") }
        cool_down
        2.times { client.get(other) }
        server.instance_variable_get(:@responses)["/"] = Scripted.response(302, "Location" => other)
        2.times do
          error = error_of(Hecaton::CircuitOpenError) { client.get("#{server.url}/") }
          assert_match other.chomp("/"), error.message
        end
        assert_equal [Hecaton::Request.origin_of(other)], @breaker.stats.keys
      end
    end
  end

  def test_an_outcome_of_another_feature_says_nothing_of_the_server
    serve do |url|
      local = Object.new
      local.define_singleton_method(:respond) do |request|
        Hecaton::Response.new(status: 200) if request.url.end_with?("?local")
      end
      client = client(features: [breaker, local])
      2.times { client.get(url) }
      assert_equal 200, client.get("#{url}?local").status
      assert_equal :open, state(url)
    end
  end

  def test_many_threads_make_one_trial
    serve do |url, server|
      client = client(features: [breaker])
      2.times { client.get(url) }
      cool_down
      server.requests
      server.instance_variable_get(:@responses)["/"] = lambda do |_|
        Thread.pass until @breaker.stats.values.first[:refused] == 7
        Scripted.response(200)
      end
      ended = Array.new(8) { Thread.new { client.get_all([url]).first } }.map(&:value)
      assert_equal({ Hecaton::Response => 1, Hecaton::CircuitOpenError => 7 }, ended.map(&:class).tally)
      assert_equal 1, server.requested.size
    end
  end

  def test_in_a_batch_what_has_not_started_is_spared
    serve do |url, server|
      outcomes = client(features: [breaker]).get_all([url] * 10, concurrency: 1)
      assert_equal [500, 500] + [nil] * 8, outcomes.map(&:status)
      assert_equal 2, server.requested.size
    end
  end

  def test_a_retry_of_an_open_circuit_ends_the_request
    client = client(features: [breaker], retry: { max: 5, interval: 0 })
    2.times { assert_raises(Hecaton::ConnectError) { client.get("http://127.0.0.1:1/", retry: false) } }
    assert_raises(Hecaton::CircuitOpenError) { client.get("http://127.0.0.1:1/") }
  end

  def test_only_so_many_origins_are_remembered
    client = client(features: [breaker(most: 2)])
    3.times { |port| assert_raises(Hecaton::ConnectError) { client.get("http://127.0.0.#{port + 2}:1/") } }
    assert_equal %w[http://127.0.0.3:1 http://127.0.0.4:1], @breaker.stats.keys
    assert_raises(Hecaton::ConnectError) { client.get("http://127.0.0.4:1/") }
    assert_equal %w[http://127.0.0.3:1 http://127.0.0.4:1], @breaker.stats.keys
  end

  def test_a_redirect_that_is_not_followed_says_nothing_of_the_server
    Scripted.run("/" => Scripted.response(302, "Location" => "/")) do |server|
      client = client(redirects: 1, features: [breaker])
      2.times { assert_raises(Hecaton::RedirectError) { client.get("#{server.url}/") } }
      assert_empty @breaker.stats
    end
  end

  def test_what_a_failure_is_can_be_said
    serve do |url|
      @status = 404
      client = client(features: [breaker(failure: ->(outcome) { outcome.status == 404 })], raise_for_status: true)
      2.times { assert_raises(Hecaton::StatusError) { client.get(url) } }
      assert_raises(Hecaton::CircuitOpenError) { client.get(url) }
    end
  end

  def test_a_trial_whose_failure_code_raises_makes_way_for_another
    broken = false
    serve do |url, _|
      failure = ->(outcome) { broken ? raise("on purpose") : outcome.status == 500 }
      client = client(features: [breaker(failure: failure)])
      2.times { client.get(url) }
      cool_down
      broken = true
      error_of(Hecaton::FeatureError) { client.get(url) }
      broken = false
      @status = 200
      assert_equal 200, client.get(url).status
    end
  end

  def test_bad_arguments
    [{ failures: 0 }, { failures: "3" }, { failures: nil }, { most: 0 }, { cooldown: -1 }, { cooldown: nil },
     { failure: 3 }].each do |options|
      name, value = options.first
      error = assert_raises(ArgumentError) { Hecaton::Features::CircuitBreaker.new(**options) }
      assert_match(/\A#{name} is #{Regexp.escape(value.inspect)}: give /, error.message)
    end
  end
end
