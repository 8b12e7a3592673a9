# Limits on connections, seen from Ruby's threads.
require "test_helper"

class LimitTest < OriginTest
  def test_sixteen_threads_with_a_limit_of_four_never_open_a_fifth_connection
    client = client(timeout: 20, per_origin: 4)
    before = origin.ledger["connections"]
    statuses = Array.new(16) { Thread.new { Array.new(20) { client.get(url("/delay/1")).status } } }.flat_map(&:value)
    assert_equal [200] * 320, statuses
    assert_equal 4, origin.ledger["connections"] - before
  end

  def test_the_wait_is_a_phase_of_its_own
    client = client(per_origin: 1, queue_timeout: 0.2)
    holder = Thread.new { client.get(url("/delay/1000")).status }
    wait_until { origin.ledger["peak_in_flight"] >= 1 && holder.status == "sleep" }
    error = error_of(Hecaton::TimeoutError) { sleep 0.1; client.get(url("/r/1")) }
    assert_equal [:queue, false], [error.phase, error.sent?]
    assert_equal 200, holder.value
    assert_kind_of Float, client.get(url("/r/1")).timings.queue
  end

  def test_threads_killed_while_they_wait_lose_no_turn
    client = client(timeout: 20, per_origin: 2)
    40.times do
      threads = Array.new(4) { Thread.new { client.get(url("/fault/stall-head")) } }
      sleep 0.005
      threads.each(&:kill).each(&:join)
    end
    assert_equal 200, client.get(url("/r/1")).status
  end
end
