# Retries of one request, and retries that a block decides about. The block sees outcomes only. The last outcome lists
# all tries and is reported once.
require "test_helper"
require "scripted"
require "timeout"

class RetryPredicateTest < ServerTest
  QUICK = { interval: 0.001 }.freeze

  def statuses(outcome) = outcome.attempts.map { |attempt| attempt.ending == :status ? attempt.status : attempt.ending }

  # Retries that repeat everything, and note the outcomes that they saw.
  def all(requested = [], **settings) = { if: ->(outcome) { requested << outcome }, **QUICK, **settings }

  def test_a_request_says_itself_when_it_is_sent_again
    busy = { statuses: [503], **QUICK }
    tries = ->(client, **options) { client.get(url("/status/503"), **options).attempts.size }
    assert_equal [1, 3, 2], [{}, { retry: busy }, { retry: { **busy, max: 1 } }].map { |options|
      tries[client, **options]
    }
    patient = client(retry: busy)
    assert_equal [3, 1, 1], [{}, { retry: false }, { retry: true }].map { |options| tries[patient, **options] }
    assert_equal 3, patient.request(:get, url("/status/503")).attempts.size
    assert_equal 1, patient.request(:get, url("/status/503"), retry: false).attempts.size
    outcomes = client.get_all([url("/status/503")] * 2, retry: busy)
    assert_equal [3, 3], outcomes.map { |outcome| outcome.attempts.size }
    patient.batch do |batch|
      batch.get(url("/status/503"), retry: false).on_complete { |outcome| assert_equal 1, outcome.attempts.size }
      batch.request(:get, url("/status/503")).on_complete { |outcome| assert_equal 3, outcome.attempts.size }
    end
    assert_equal 3, client.get(url("/status/503"), retry: busy) { |stream| stream.attempts.size }
    assert_equal 1, patient.get(url("/status/503"), retry: false) { |stream| stream.attempts.size }
  end

  def test_a_block_decides
    requested = []
    response = client.post(url("/status/404"), body: "x", retry: all(requested))
    assert_equal [[404] * 3, [1, 2]], [statuses(response), requested.map { |outcome| outcome.attempts.size }]
    assert_equal [Hecaton::Response], requested.map(&:class).uniq
    assert_equal requested.first.body, response.body
    assert_equal [200], statuses(client(retry: { if: :error.to_proc, **QUICK }).get(url("/r/1")))
    begun = response.attempts.map(&:begun)
    assert_equal begun.sort, begun, "they are one behind the other"
  end

  def test_errors_are_decided_about_too
    requested = []
    error = error_of(Hecaton::BodyError) { client(retry: all(requested, max: 1)).get(url("/fault/truncate")) }
    assert_equal [%i[failed failed], [Hecaton::BodyError]], [statuses(error), requested.map(&:class)]
    requested.clear
    client(retry: all(requested, max: 1), raise_for_status: true).get(url("/status/500"))
  rescue Hecaton::StatusError => error
    assert_equal [[500, 500], [Hecaton::StatusError]], [statuses(error), requested.map(&:class)]
  else
    flunk "no StatusError"
  end

  def test_the_deadline_is_one
    requested = []
    error = error_of(Hecaton::TimeoutError) { client(retry: all(requested), timeout: 0.2).get(url("/delay/60000")) }
    assert_equal [:total, []], [error.phase, requested]
    patience = Scripted.response(503, { "Retry-After" => "3600" })
    Scripted.run("/" => patience) { |server| client.get("#{server.url}/", retry: all(requested)) }
    assert_empty requested, "there is no time for the server's Retry-After"
  end

  def test_in_a_batch_every_request_is_reported_once
    requested = []
    received = []
    eager = all(requested, max: 2)
    client.batch(concurrency: 3) do |batch|
      8.times do |number|
        request = number.even? ? batch.get(url("/status/503"), retry: eager) : batch.get(url("/status/503"))
        request.on_complete { |outcome| received << [number, statuses(outcome).size] }
      end
    end
    assert_equal Array.new(8) { |number| [number, number.even? ? 3 : 1] }, received.sort
    assert_equal 8, requested.size
  end

  def test_a_client_that_decides_does_so_everywhere
    requested = []
    own = client(retry: all(requested, max: 1))
    assert_equal [2, 2], own.get_all([url("/status/503")] * 2).map { |outcome| outcome.attempts.size }
    own.each_response([url("/status/503")]) { |outcome, _| assert_equal 2, outcome.attempts.size }
    assert_equal 1, own.get(url("/status/503"), retry: false).attempts.size
    sizes = []
    own.batch { |batch|
      batch.get(url("/status/503")).on_body { nil }.on_complete { |outcome| sizes << outcome.attempts.size }
    }
    assert_equal [2], sizes
    body = own.get(url("/status/503")) { |stream| [stream.attempts.size, stream.each_chunk.to_a.join] }
    assert_equal 2, body.first
    refute_empty body.last
    assert_equal 2, own.post(url("/status/503"), body: StringIO.new("abc")).attempts.size
    assert_equal 6, requested.size
  end

  def test_what_is_raised_goes_where_a_callback_would
    angry = { if: ->(_) { raise IndexError, "no" }, **QUICK }
    error_of(IndexError) { client.get(url("/r/1"), retry: angry) }
    error_of(IndexError) { client.get(url("/r/1"), retry: angry) { flunk } }
    requests = []
    error_of(IndexError) do
      client.batch do |batch|
        requests << batch.get(url("/r/1"), retry: angry).on_complete { flunk } << batch.get(url("/delay/60000"))
      end
    end
    assert_equal [Hecaton::CancelledError] * 2, requests.map { |request| request.outcome.class }
    slow = { if: ->(_) { sleep }, **QUICK }
    error_of(Timeout::Error) { Timeout.timeout(0.1) { client.get(url("/r/1"), retry: slow) } }
    killed = Thread.new { client.get(url("/r/1"), retry: slow) }
    wait_until { killed.stop? }
    assert killed.kill.join(10)
  end

  def test_a_block_may_use_the_client
    own = client
    replies = []
    requesting = { if: ->(outcome) { replies << own.get(url("/r/2")).status << outcome.status && false }, **QUICK }
    own.batch { |batch| batch.get(url("/r/1"), retry: requesting) }
    assert_equal [200, 200], replies
  end

  def test_bad_settings
    [{ if: 1 }, { if: nil }, { if: :error.to_proc, on: [:body] },
     { if: :error.to_proc, statuses: [1] }, { unless: 1 }, 1.5].each do |odd|
      error_of(ArgumentError) { client(retry: odd) }
      error_of(ArgumentError) { client.get(url("/r/1"), retry: odd) }
      error_of(ArgumentError) { client.batch { |batch| batch.get(url("/r/1"), retry: odd) } }
    end
    error = error_of(ArgumentError) { client(retry: { if: :error.to_proc, statuses: [1], methods: [:get] }) }
    assert_equal "retry: if decides alone: leave out methods, statuses", error.message
  end
end
