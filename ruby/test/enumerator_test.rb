# each_response without a block. Not run by `rake sig`, whose checker reads every Enumerator to its end, if it has one.
require "test_helper"
require "timeout"

class EnumeratorTest < ServerTest
  def test_without_a_block_each_response_is_an_enumerator
    responses = client.each_response((1..).lazy.map { |id| url("/r/#{id}") }, concurrency: 3)
    assert_kind_of Enumerator, responses
    assert_equal [200] * 4, responses.take(4).map { |outcome, _| outcome.status }
    assert_equal [200, 200],
      responses.lazy.select { |_, url| url.end_with?("0") }.first(2).map { |outcome, _| outcome.status }
  end

  def test_next_gives_one_after_the_other_until_the_end
    responses = client.each_response([url("/r/1"), url("/r/2")], concurrency: 1)
    assert_equal [url("/r/1"), url("/r/2")], Array.new(2) { responses.next.last }
    assert_raises(StopIteration) { responses.next }
    responses.rewind
    assert_equal 200, responses.next.first.status
  end

  def test_next_waits_for_its_turn_and_can_be_interrupted
    responses = client(timeout: 30).each_response([url("/r/1"), url("/fault/stall-head"), url("/r/2")], concurrency: 1)
    assert_equal 200, responses.next.first.status
    assert_raises(Timeout::Error) { Timeout.timeout(0.2) { responses.next } }
    assert_equal 200, client.get(url("/r/1")).status
  end

  def test_what_next_left_in_flight_is_closed_when_the_enumerator_is_collected
    own = TestServer.new
    urls = ["#{own.url}/r/1"] + Array.new(3) { "#{own.url}/fault/stall-head" }
    client = client()
    # On a stack that is gone then, and cannot be mistaken for a reference.
    Thread.new { Array.new(5) { client.each_response(urls).next }.size }.join
    assert_operator own.ledger["connections_open"], :>=, 2
    wait_until { GC.start; own.ledger["connections_open"] <= 2 }
    assert_operator own.ledger["connections_open"], :<=, 2
  ensure
    own&.stop
  end

  def test_next_of_another_thread_is_refused
    responses = client.each_response([url("/r/1"), url("/r/2")])
    responses.next
    assert_raises(FiberError) { Thread.new { Thread.current.report_on_exception = false; responses.next }.value }
    assert_equal 200, responses.next.first.status
  end

  def test_leaving_early_closes_what_is_in_flight
    own = TestServer.new
    client = client()
    urls = ["#{own.url}/r/1"] + Array.new(3) { "#{own.url}/fault/stall-head" }
    [
      -> { client.each_response(urls).first },
      -> { client.each_response(urls).take(1) },
      -> { client.each_response(urls).lazy.map { |outcome, _| outcome.status }.first(1) }
    ].each do |leave|
      leave.call
      wait_until { own.ledger["connections_open"] <= 2 } # That of this request, and an idle one.
      assert_operator own.ledger["connections_open"], :<=, 2
    end
  ensure
    own&.stop
  end
end
