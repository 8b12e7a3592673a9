# Limits on connections, seen from Ruby's threads.
require "test_helper"
require "scripted"

class LimitTest < ServerTest
  def test_sixteen_threads_with_a_limit_of_four_never_open_a_fifth_connection
    client = client(timeout: 20, per_origin: 4)
    with_own_server do |server|
      statuses = Array.new(16) { Thread.new { Array.new(20) { client.get(url("/delay/1")).status } } }.flat_map(&:value)
      assert_equal [200] * 320, statuses
      assert_equal 4, server.ledger["connections"] - 1, "one is that of this request"
    end
  end

  def test_the_wait_is_a_phase_of_its_own
    client = client(per_origin: 1, queue_timeout: 0.2)
    release = Queue.new
    Scripted.run("/held" => ->(_) { release.pop; Scripted.response(200) }, "/" => Scripted.response(200)) do |server|
      holder = Thread.new { client.get("#{server.url}/held").status }
      wait_until { client.stats[:in_use] == 1 }
      error = error_of(Hecaton::TimeoutError) { client.get("#{server.url}/") }
      assert_equal [:queue, false], [error.phase, error.sent?]
      release << true
      assert_equal 200, holder.value
      assert_kind_of Float, client.get("#{server.url}/").timings.queue_time
    end
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

  def test_a_full_queue_is_an_error_at_once
    client = client(per_origin: 1, max_queue: 1)
    errors = []
    client.batch(concurrency: 4) do |batch|
      4.times { batch.get(url("/delay/100")).on_complete { |outcome| errors << outcome.error } }
    end
    refused = errors.compact
    assert_equal 2, refused.size
    refused.each do |error|
      assert_equal [Hecaton::ConnectError, :queue, false], [error.class, error.phase, error.sent?]
    end
  end

  def test_idle_connections_are_limited_in_number_and_age
    few = client(max_idle: 1)
    few.batch(concurrency: 3) { |batch| 3.times { batch.get(url("/delay/50")) } }
    assert_equal 1, few.idle_connections
    reused = with_growing(1) do |age|
      young = client(max_age: age)
      seen = Array.new(2) { young.get(url("/r/1")).attempts.last.reused? }
      sleep age + 0.1
      seen << young.get(url("/r/1")).attempts.last.reused? if seen.last
    end
    assert_equal [false, true, false], reused
  end

  def test_stats_count_what_was_done
    client = client()
    2.times { client.get(url("/r/1")) }
    expected = { requests: 2, retries: 0, opened: 1, reused: 1, idle: 1, in_use: 0, waiting: 0 }
    assert_equal expected, client.stats
    client.close
    assert_equal 0, client.stats[:idle]
  end
end
