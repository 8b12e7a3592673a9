# With a Fiber.scheduler, requests in fibers of one thread overlap; async's is the one that people use.
require "test_helper"
require "async"

class FiberTest < OriginTest
  def test_requests_in_fibers_of_one_thread_overlap
    client = client()
    own = Origin.new
    statuses = in_fibers(10) { client.get("#{own.url}/delay/500").status }
    assert_equal [200] * 10, statuses
    assert_equal 10, own.ledger["peak_in_flight"]
  ensure
    own&.stop
  end

  def test_a_batch_in_a_fiber_lets_the_others_run
    client = client()
    order = []
    Async do |task|
      task.async { client.batch { |batch| 3.times { batch.get(url("/delay/300")).on_complete { order << :batch } } } }
      task.async { client.get(url("/delay/20")); order << :get }
    end
    assert_equal [:get, :batch, :batch, :batch], order
  end

  def test_errors_reach_their_fiber
    client = client(timeout: 0.1)
    phases = in_fibers(3) { assert_raises(Hecaton::TimeoutError) { client.get(url("/fault/stall-head")) }.phase }
    assert_equal [:total] * 3, phases
  end

  def test_a_timeout_of_the_scheduler_gives_the_request_up
    client = client(timeout: 30)
    client.get(url("/r/1"))
    before = descriptors
    Async do |task|
      assert_raises(Async::TimeoutError) { task.with_timeout(0.1) { client.get(url("/fault/stall-head")) } }
      assert_equal 200, client.get(url("/r/1")).status
    end
    client.close
    wait_until { descriptors <= before }
    assert_operator descriptors, :<=, before
  end

  def test_a_timeout_of_the_scheduler_ends_a_batch_in_a_defined_state
    client = client(timeout: 30)
    requests = []
    Async do |task|
      assert_raises(Async::TimeoutError) do
        task.with_timeout(0.2) do
          client.batch(concurrency: 2) { |batch| requests = Array.new(5) { batch.get(url("/fault/stall-head")) } }
        end
      end
    end
    assert_equal [true, true, false, false, false], requests.map { |request| request.outcome.sent? }
  end

  def test_without_a_scheduler_a_request_needs_no_thread
    threads = Thread.list.size
    client.get(url("/r/1"))
    assert_equal threads, Thread.list.size
  end

  private

  def in_fibers(count, &block)
    Async { |task| Array.new(count) { task.async(&block) }.map(&:wait) }.wait
  end
end
