# Many requests under one limit, refilled while they run.
require "test_helper"
require "timeout"

class BatchTest < ServerTest
  def test_how_many_ended_how
    fill = lambda do |batch|
      3.times { batch.get(url("/r/1")) }
      batch.get(url("/status/500"))
      batch.get(url("/fault/truncate")).on_complete { batch.get("http://") }
    end
    assert_equal({ responses: 4, errors: 2 }, client.batch(&fill))
    assert_equal({ responses: 0, errors: 0 }, client.batch { nil })
    strict = client(raise_for_status: true)
    assert_equal({ responses: 3, errors: 3 }, strict.batch(&fill))
    assert_equal({ responses: 4, errors: 0 }, client.batch(raise_on_failure: true) { |batch|
      4.times { batch.get(url("/r/1")) }
    })
    ended = []
    error = error_of(Hecaton::BodyError) do
      client.batch(raise_on_failure: true, concurrency: 1) do |batch|
        [url("/fault/truncate"), url("/r/1"), "http://127.0.0.1:1/"].each { |each|
          batch.get(each).on_complete { |outcome| ended << outcome.status }
        }
      end
    end
    assert_match(/cut short/, error.message)
    assert_equal [nil, 200, nil], ended
  end

  def test_those_that_are_sent_again_with_another_token_count_once
    tokens = %w[old new]
    own = client(bearer: ->(_refused) { tokens.shift || "new" })
    counts = own.batch { |batch| batch.get(url("/status/401")) }
    assert_equal({ responses: 1, errors: 0 }, counts)
  end

  def test_every_outcome_has_a_status_or_nil
    outcomes = client.get_all([url("/r/1"), "http://", url("/fault/truncate")])
    assert_equal [200, nil, nil], outcomes.map(&:status)
    assert_equal [500], client(raise_for_status: true).get_all([url("/status/500")]).map(&:status)
  end

  def test_every_request_has_one_outcome
    seen = Hash.new(0)
    client.batch(concurrency: 7) do |batch|
      100.times { |id| batch.get(url("/r/#{id}")).on_complete { |outcome| seen[id] += outcome.response.status } }
    end
    assert_equal Array.new(100) { |id| [id, 200] }.to_h, seen
  end

  def test_callbacks_may_queue_more
    left = 500
    done = 0
    client.batch(concurrency: 20) do |batch|
      again = lambda do |_|
        done += 1
        batch.get(url("/r/1")).on_complete(&again) if (left -= 1) >= 0
      end
      20.times { batch.get(url("/r/1")).on_complete(&again) }
    end
    assert_equal 520, done
  end

  def test_no_more_connections_than_concurrency_and_all_are_used_again
    with_own_server do |server|
      client = client()
      before = server.ledger["connections"]
      2.times { client.batch(concurrency: 5) { |batch| 50.times { batch.get(url("/delay/1")) } } }
      assert_equal 5, server.ledger["connections"] - before
      assert_equal 5, client.idle_connections
    end
  end

  # tokio's cooperative budget is 128 operations a turn; what is beyond must not be forgotten.
  def test_a_first_wave_larger_than_a_turn_of_the_reactor
    outcomes = []
    client(timeout: 20).batch(concurrency: 600) do |batch|
      600.times { batch.get(url("/r/1")).on_complete { |outcome| outcomes << outcome.error } }
    end
    assert_equal [nil] * 600, outcomes
  end

  def test_failures_go_to_the_callback
    outcomes = []
    client.batch do |batch|
      batch.get(url("/fault/truncate")).on_complete { |outcome| outcomes[0] = outcome }
      batch.get(url("/fault/stall-head"), timeout: 0.2).on_complete { |outcome| outcomes[1] = outcome }
    end
    assert_equal [Hecaton::BodyError, Hecaton::TimeoutError], outcomes.map { |outcome| outcome.error.class }
    assert_equal [nil, nil], outcomes.map(&:response)
  end

  def test_a_bad_request_is_refused_when_it_is_queued
    ended = []
    client.batch do |batch|
      assert_raises(ArgumentError) { batch.get(url("/r/1"), headers: { "x" => "a\r\nb" }) }
      assert_raises(ArgumentError) { batch.get("http://a b/", timeout: -1) }
      batch.get(url("/r/1")).on_complete { |outcome| ended << outcome }
    end
    assert_equal 1, ended.size
  end

  # Refused or not, a program that rescues continues, and no outcome reaches the wrong request.
  def test_interrupts_that_are_rescued_in_a_callback_do_not_mix_up_requests
    requested = {}
    responded = {}
    queue = lambda do |batch, id|
      Timeout.timeout(0.00002) { requested[id] = batch.get(url("/r/#{id}")) }
    rescue Timeout::Error
      nil # Queued or not: if it was, its outcome is the batch's own affair.
    end
    client.batch(concurrency: 5) do |batch|
      200.times do |id|
        batch.get(url("/echo?#{id}")).on_complete do |outcome|
          responded[id] = outcome.response.body[/echo\?(\d+)/, 1].to_i
          queue.call(batch, id)
        end
      end
    end
    assert_equal Array.new(200) { |id| [id, id] }.to_h, responded
    assert(requested.values.all? { |request| request.outcome.status == 200 })
  end

  def test_bad_concurrency
    [0, -1, 1.5, "5"].each { |bad| assert_raises(ArgumentError) { client.batch(concurrency: bad) { flunk } } }
  end

  def test_waiting_in_the_queue_does_not_use_up_the_timeout
    with_growing(1.5) do |limit|
      errors = []
      # All together take longer than one may.
      delay = (limit * 1000 / 15).ceil
      client(timeout: limit).batch(concurrency: 1) do |batch|
        20.times { batch.get(url("/delay/#{delay}")).on_complete { |o| errors << o.error } }
      end
      errors == [nil] * 20
    end
  end

  def test_an_exception_in_a_callback_ends_the_batch_in_a_defined_state
    requests = []
    called = 0
    error = assert_raises(RuntimeError) do
      client.batch(concurrency: 4) do |batch|
        requests << batch.get(url("/r/1")).on_complete { raise "stop" }
        3.times { requests << batch.get(url("/delay/2000")).on_complete { called += 1 } }
        5.times { requests << batch.get(url("/r/2")).on_complete { called += 1 } }
      end
    end
    assert_equal "stop", error.message
    assert_equal 0, called
    assert_equal 200, requests[0].outcome.response.status
    assert_equal [Hecaton::CancelledError] * 8, requests[1..].map { |request| request.outcome.class }
    # The fifth started when the first had ended, before the first's callback was called.
    assert_equal [true] * 4 + [false] * 4, requests[1..].map { |request| request.outcome.sent? }
  end

  def test_a_batch_can_be_used_inside_a_callback
    inner = nil
    client = client()
    client.batch do |batch|
      batch.get(url("/r/1")).on_complete do
        inner = client.get(url("/r/2")).status
        client.batch { |other| other.get(url("/r/3")).on_complete { |outcome| inner += outcome.response.status } }
      end
    end
    assert_equal 400, inner
  end

  def test_another_thread_is_refused_while_the_batch_waits_and_while_it_calls_back
    problems = []
    intrude = ->(batch) { Thread.new { problems << assert_raises(ThreadError) { batch.get(url("/r/1")) } }.join }
    client.batch do |batch|
      waiting = Thread.new { sleep 0.1; intrude.call(batch) }
      batch.get(url("/delay/300")).on_complete { waiting.join; intrude.call(batch) }
      intrude.call(batch)
    end
    assert_equal [true] * 3, problems.map { |problem| problem.message.include?("another thread") }
  end

  def test_a_batch_that_has_ended_takes_no_more
    stored = nil
    client.batch { |batch| (stored = batch).get(url("/r/1")) }
    assert_match(/has ended/, assert_raises(RuntimeError) { stored.get(url("/r/1")) }.message)
  end

  def test_an_exception_in_the_block_sends_nothing
    sent = requests_of do
      request = nil
      assert_raises(RuntimeError) do
        client.batch do |batch|
          request = batch.get(url("/r/1"))
          raise "stop"
        end
      end
      assert_kind_of Hecaton::CancelledError, request.outcome
      refute request.outcome.sent?
    end
    assert_equal 0, sent
  end

  # Wherever the exception strikes: one outcome each, and what had ended keeps its own.
  def test_random_interrupts_leave_every_request_with_what_became_of_it
    random = Random.new(11)
    client = client()
    interrupts = [->(thread) { thread.kill }, ->(thread) { thread.raise("enough") }]
    60.times do |round|
      requests = []
      called = Hash.new(0)
      again = lambda do |batch|
        request = batch.get(url("/delay/1"))
        requests << request
        request.on_complete { called[request] += 1; again.call(batch) if requests.size < 2000 }
      end
      thread = Thread.new { client.batch(concurrency: 8) { |batch| 12.times { again.call(batch) } } }
      thread.report_on_exception = false
      sleep 0.002 + random.rand * 0.05
      interrupts[round % 2].call(thread)
      thread.join rescue nil
      requests.each { |request| assert_kind_of Hecaton::Outcome, request.outcome }
      cancelled, ended = requests.partition { |request| request.outcome.is_a?(Hecaton::CancelledError) }
      assert_operator cancelled.count { |request| request.outcome.sent? }, :<=, 8
      assert_empty called.keys - ended
      assert(called.values.all?(1))
    end
  end

  # A signal handler may do this between any two steps of the batch.
  def test_abort_between_any_two_lines_of_the_batch
    client = client()
    step = 0
    loop do
      called = Hash.new(0)
      pending, reached = aborted_at(client, step, called)
      break unless reached

      assert(pending.all?(&:outcome), "step #{step}")
      assert(called.values.all?(1), "step #{step}")
      step += 1
    end
    assert_operator step, :>, 100
  end

  # Aborts a batch before its line of this number is run; whether there was one.
  def aborted_at(client, step, called)
    pending = []
    reached = false
    client.batch do |batch|
      2.times { |id| pending << batch.get(url("/r/#{id}")).on_complete { called[id] += 1 } }
      pending << batch.get(url("/r/3")).on_headers { nil }.on_body { nil }.on_complete { called[3] += 1 }
      lines = 0
      trace = TracePoint.new(:line) do |point|
        next unless point.path.match?(%r{hecaton/(batch|pending)\.rb\z}) && !reached && (lines += 1) > step

        reached = true
        batch.abort
      end
      trace.enable(target_thread: Thread.current)
      pending << trace
    end
    [pending.grep_v(TracePoint), reached]
  ensure
    pending.grep(TracePoint).each(&:disable)
  end

  def test_no_callback_follows_one_that_has_aborted
    called = []
    pending = nil
    client.batch do |batch|
      pending = batch.get(url("/r/1")).on_complete { called << :first; batch.abort }
      pending.on_complete { called << :second }.on_success { called << :third }
    end
    assert_equal [[:first], 200], [called, pending.outcome.status]
  end

  def test_on_complete_after_the_end_is_called_at_once
    request = nil
    client.batch { |batch| request = batch.get(url("/r/1")) }
    assert_equal 200, request.outcome.status
    seen = []
    request.on_complete { |outcome| seen << outcome }
    assert_equal [request.outcome], seen
    assert_raises(ArgumentError) { request.on_complete }
  end
end
