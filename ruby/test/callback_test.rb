# The callbacks of a batch's request: which are called, when, in which order, and how often.
require "test_helper"

class CallbackTest < ServerTest
  def test_success_is_a_status_of_2xx_and_all_else_is_failure
    seen = Hash.new { |hash, key| hash[key] = [] }
    client.batch do |batch|
      { "/r/1" => 200, "/status/204" => 204, "/status/302" => 302, "/status/404" => 404, "/status/500" => 500,
        "/fault/close" => nil }.each do |path, status|
        batch.get(url(path))
          .on_success { |outcome| seen[:success] << outcome.response.status }
          .on_failure { |outcome| seen[:failure] << outcome.response&.status }
          .on_complete { seen[:complete] << status }
      end
    end
    assert_equal [200, 204], seen[:success].sort
    assert_equal [302, 404, 500, nil], seen[:failure].sort_by { |status| status || 1000 }
    assert_equal 6, seen[:complete].size
  end

  def test_callbacks_are_called_in_the_order_they_were_given_and_late_ones_at_once
    order = []
    client.batch do |batch|
      request = batch.get(url("/r/1"))
      request.on_complete { order << 1 }.on_success { order << 2 }.on_failure { flunk }.on_complete { order << 3 }
      request.on_complete {
        order << 4
        request.on_success { order << 5; request.on_complete { order << 7 }; order << 6 }
      }
      request.on_success { order << 8 }
    end
    assert_equal (1..8).to_a, order
  end

  def test_a_batch_that_runs_refuses_to_run_again_and_continues
    client.batch do |batch|
      first = batch.get(url("/r/1"))
      first.on_complete do
        error = assert_raises(RuntimeError) { batch.run { flunk } }
        assert_equal "this batch runs already: queue in its block or its callbacks", error.message
      end
      batch.get(url("/r/2")).on_complete { |outcome| assert_equal 200, outcome.response.status }
    end => counts
    assert_equal({ responses: 2, errors: 0 }, counts)
  end

  def test_a_callback_given_after_the_end_is_called_at_once
    request = nil
    client.batch { |batch| request = batch.get(url("/r/1")) }
    seen = []
    request.on_complete { |outcome| seen << outcome }.on_success { |outcome| seen << outcome }.on_failure { flunk }
    assert_equal [request.outcome] * 2, seen
    %i[on_complete on_success on_failure].each { |name| assert_raises(ArgumentError) { request.public_send(name) } }
  end

  # Each is what the program's code does while requests of the batch are in flight.
  NESTED = {
    "a request" => ->(client, url) { client.get(url).status },
    "a batch" => ->(client, url) {
                   [].tap { |all|
                     client.batch { |batch| batch.get(url).on_complete { |outcome| all << outcome.response.status } }
                   }.first
                 },
    "a stream" => ->(client, url) { client.get(url) { |response| response.read && response.status } },
    "a thread" => ->(client, url) { Thread.new { client.get(url).status }.value }
  }.freeze

  def test_any_request_may_be_sent_inside_a_callback_of_a_batch
    NESTED.each do |name, nested|
      %i[on_complete on_headers on_body].each do |callback|
        statuses = []
        counts = client.batch(concurrency: 3) do |batch|
          5.times {
            batch.get(url("/bytes/20000")).public_send(callback) { statuses << nested.call(client, url("/r/1")) }
          }
        end
        assert_equal [5, [200]], [counts[:responses], statuses.uniq], "#{name} in #{callback}"
      end
    end
  end

  def test_any_request_may_be_sent_by_features_predicates_and_bodies_of_a_batch
    again = -> { NESTED.each_value { |nested| assert_equal 200, nested.call(client, url("/r/1")) } }
    feature = Class.new { %i[before_attempt after].each { |name| define_method(name) { |*| again.call && nil } } }.new
    body = Class.new(StringIO) { define_method(:read) { |*arguments| again.call && super(*arguments) } }
    other = Hecaton::Client.new(timeout: 60, features: [feature], retry: { max: 1, if: ->(*) { again.call && false } })
    counts = other.batch { |batch| 3.times { batch.post(url("/echo"), body: body.new("data")) } }
    assert_equal({ responses: 3, errors: 0 }, counts)
  end

  # The request that called it holds the only connection.
  def test_a_request_inside_a_callback_that_waits_for_its_own_connection_says_what_it_waits_for
    narrow = Hecaton::Client.new(timeout: 20, per_origin: 1)
    error = error_of(Hecaton::TimeoutError) {
      narrow.get(url("/bytes/20000")) { |response| narrow.get(url("/r/1"), timeout: 0.3) && response.read }
    }
    assert_match(/\Athe deadline of 300ms passed while waiting for a connection/, error.message)
  end

  def test_a_callback_that_raises_ends_the_batch_and_is_never_called_again
    called = []
    request = nil
    error = assert_raises(RuntimeError) do
      client.batch do |batch|
        request = batch.get(url("/r/1")).on_success { called << 1; raise "stop" }.on_complete { called << 2 }
      end
    end
    assert_equal "stop", error.message
    request.on_complete { called << 3 }
    assert_equal [1, 3], called
  end

  def test_a_batch_that_a_callback_closes_says_so
    outcomes = []
    error = error_of(RuntimeError) do
      client.batch(concurrency: 1) do |batch|
        3.times { batch.get(url("/r/1")).on_complete { |outcome| outcomes << outcome; batch.close } }
      end
    end
    assert_match(/closed in its block or a callback: call abort/, error.message)
    assert_equal [200], outcomes.map(&:status)
  end
end
