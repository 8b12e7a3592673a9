# The meaning of a batch's limits, its order, and aborting it.
require "test_helper"

class BatchLimitsTest < ServerTest
  def setup
    super
    @others = []
  end

  def teardown = @others.each(&:stop)

  def test_per_origin_holds_and_a_busy_origin_blocks_no_other
    busy, free = another, another
    done = 0
    client.batch(concurrency: 4, per_origin: 2) do |batch|
      30.times { batch.get("#{busy.url}/fault/stall-head") }
      100.times do
        batch.get("#{free.url}/delay/1").on_success { batch.abort if (done += 1) == 100 }
      end
    end
    assert_equal 100, done
    assert_equal [2, 2], [busy, free].map { |real_server| real_server.ledger["peak_in_flight"] }
  end

  def test_a_rate_holds_and_waiting_for_it_uses_up_no_timeout
    outcomes = []
    begun = now
    client(timeout: 1.5).batch(rate: 10) do |batch|
      20.times { batch.get(url("/r/1")).on_complete { |outcome| outcomes << outcome } }
    end
    assert_operator now - begun, :>=, 1.89
    assert_equal [200], outcomes.map { |outcome| outcome.response&.status }.uniq
  end

  # Refilled from callbacks: then the origin is idle between two requests, and still owed its rest.
  def test_a_rate_holds_when_each_request_is_queued_by_the_one_before
    left = 10
    begun = now
    client.batch(rate: 40) do |batch|
      again = ->(_) { batch.get(url("/r/1")).on_complete(&again) if (left -= 1) >= 0 }
      again.call(nil)
    end
    assert_operator now - begun, :>=, 0.22
  end

  def test_bad_limits_are_refused
    [0, -1, 1.5, "5", 2**40].each do |bad|
      assert_raises(ArgumentError) { client.batch(per_origin: bad) { flunk } }
      error = error_of(ArgumentError) { client.batch { |batch| batch.max_concurrency = bad } }
      assert_match(/\Amax_concurrency is .*: use an Integer from 1 to 4294967295\z/, error.message)
    end
    client.batch(per_origin: 2**32 - 1) { |batch| batch.max_concurrency = 2**32 - 1 }
    [0, -1, Float::NAN, Float::INFINITY, 1e-300, 10**400, "5"].each { |bad|
      assert_raises(ArgumentError) { client.batch(rate: bad) { flunk } }
    }
  end

  def test_the_front_of_the_queue_goes_first
    order = []
    client.batch(concurrency: 1) do |batch|
      { 1 => nil, 2 => :back, 3 => :front, 4 => :front }.each do |id, position|
        batch.get(url("/r/#{id}"), queue: position).on_complete { order << id }
      end
      batch.get(url("/r/5")).on_complete {
        order << 5
        batch.head(url("/r/6"), queue: :front).on_complete { order << 6 }
      }
      # Starts when the fifth has ended, before the fifth's callback is called.
      batch.get(url("/r/7")).on_complete { order << 7 }
      batch.get(url("/r/8")).on_complete { order << 8 }
      assert_raises(ArgumentError) { batch.get(url("/r/1"), queue: :first) }
    end
    assert_equal [4, 3, 1, 2, 5, 7, 6, 8], order
  end

  def test_the_front_may_be_chosen_beside_other_options
    statuses = []
    client.batch(per_origin: 1) do |batch|
      batch.get(url("/redirect/302/2"), redirects: 2, queue: :front).on_complete { |outcome|
        statuses << outcome.response.status
      }
    end
    assert_equal [200], statuses
  end

  def test_max_concurrency_may_change_while_the_batch_runs
    own = another
    peaks = []
    ended = 0
    client.batch(concurrency: 2) do |batch|
      assert_equal 2, batch.max_concurrency
      60.times do
        batch.get("#{own.url}/delay/100").on_complete do
          ended += 1
          peaks << own.ledger["peak_in_flight"] if [6, 50].include?(ended)
          batch.max_concurrency = 9 if ended == 6
        end
      end
    end
    assert_equal [2, 9], peaks
  end

  def test_max_concurrency_may_be_lowered_while_requests_are_in_flight
    ended = 0
    client.batch(concurrency: 20) do |batch|
      50.times do
        batch.get(url("/delay/20")).on_complete do
          batch.max_concurrency = 1 if (ended += 1) == 1
        end
      end
      20.times { batch.get(url("/r/1")) }
    end
    assert_equal 50, ended
  end

  def test_abort_gives_up_what_is_queued_and_in_flight_and_calls_nobody
    own = another
    requests = []
    called = []
    client.batch(concurrency: 3) do |batch|
      requests << batch.get("#{own.url}/r/1").on_complete { called << 1; batch.abort }
      5.times { |id| requests << batch.get("#{own.url}/fault/stall-head").on_complete { called << id + 2 } }
    end
    assert_equal [1], called
    assert_equal 200, requests[0].outcome.status
    assert_equal [true] * 3 + [false] * 2, requests[1..].map { |request| request.outcome.sent? }
    assert_equal [Hecaton::CancelledError], requests[1..].map { |request| request.outcome.class }.uniq
    assert_match(/aborted/, requests[1].outcome.message)
    wait_until { own.ledger["connections_open"] <= 1 } # That of this request.
    assert_operator own.ledger["connections_open"], :<=, 1
    assert_operator own.arrived, :<=, 4
  end

  def test_a_batch_that_was_aborted_runs_what_is_queued_then
    statuses = []
    client.batch do |batch|
      dropped = batch.get(url("/fault/stall-head"))
      batch.abort
      assert_equal 0, batch.size
      assert_equal false, dropped.outcome.sent?
      batch.get(url("/r/1")).on_complete do |outcome|
        statuses << outcome.response.status
        batch.abort
        batch.get(url("/r/2")).on_complete { |other| statuses << other.response.status }
      end
    end
    assert_equal [200, 200], statuses
  end

  def test_a_callback_given_after_an_abort_is_called_alone
    called = []
    request = nil
    client.batch do |batch|
      request = batch.get(url("/r/1")).on_complete { called << :first }
      batch.abort
    end
    request.on_complete { |outcome| called << outcome.class }
    assert_equal [Hecaton::CancelledError], called
  end

  def test_a_batch_takes_no_block_for_a_request
    client.batch { |batch| assert_raises(ArgumentError) { batch.get(url("/r/1")) { flunk } } }
  end

  private

  def another = TestServer.new.tap { |real_server| @others << real_server }
  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
