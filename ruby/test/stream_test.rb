# Responses read piece by piece: complete, closed when left, safe with threads and forks.
require "test_helper"
require "scripted"
require "timeout"

class StreamTest < ServerTest
  def test_the_chunks_are_the_body_and_the_blocks_value_is_returned
    client = client()
    sizes = []
    value = client.get(url("/bytes/3000000")) do |response|
      assert_equal [200, "3000000", true], [response.status, response.headers["content-length"], response.success?]
      response.each_chunk do |chunk|
        assert_equal Encoding::BINARY, chunk.encoding
        sizes << chunk.bytesize
      end
      assert_equal [[200], true], [response.attempts.map(&:status), response.attempts.last.read_time.positive?]
      assert_operator response.elapsed, :>, 0
      :value
    end
    assert_equal :value, value
    assert_equal 3_000_000, sizes.sum
    assert_operator sizes.max, :<=, 1 << 20
    assert_equal 1, client.idle_connections
  end

  def test_an_enumerator_stops_where_its_reader_does
    first = client.get(url("/chunked/1000")) { |response| response.each_chunk.first }
    assert_match(/\Achunk 1\n/, first)
  end

  def test_leaving_the_block_early_closes_the_connection
    client = client()
    before = descriptors
    client.get(url("/bytes/3000000")) { |response| response.each_chunk { break } }
    assert_raises(IOError) { client.get(url("/fault/drip")) { |response| response.each_chunk { raise IOError } } }
    client.get(url("/bytes/3000000")) { next }
    catch(:out) { client.get(url("/bytes/3000000")) { throw :out } }
    assert_raises(Timeout::Error) do
      Timeout.timeout(0.2) { client.get(url("/fault/stall-body")) { |r| r.each_chunk {} } }
    end
    assert_equal 0, client.idle_connections
    assert_operator descriptors, :<=, before
  end

  def test_a_killed_reader_leaves_no_descriptor
    client = client(timeout: 30)
    client.get(url("/r/1"))
    before = descriptors
    20.times do
      thread = Thread.new { client.get(url("/fault/drip")) { |response| response.each_chunk {} } }
      sleep 0.01
      thread.kill.join
    end
    assert_operator descriptors, :<=, before
  end

  def test_chunks_outside_the_block_are_refused
    stored = client.get(url("/bytes/3000000")) { |response| response }
    assert_match(/block has ended/, error_of(RuntimeError) { stored.each_chunk {} }.message)
    assert_equal 200, stored.status
  end

  def test_a_body_that_ends_too_early_or_too_late_raises
    %w[truncate truncate-chunked].each do |fault|
      error = error_of(Hecaton::BodyError) { client.get(url("/fault/#{fault}")) { |response| response.each_chunk {} } }
      assert_equal [:read, true], [error.phase, error.sent?]
    end
    error = error_of(Hecaton::TimeoutError) { client.get(url("/fault/drip"), timeout: 0.4) { |r| r.each_chunk {} } }
    assert_equal :total, error.phase
    error = error_of(Hecaton::TimeoutError) do
      client(read_timeout: 0.2).get(url("/fault/stall-body")) { |r| r.each_chunk {} }
    end
    assert_equal :read, error.phase
  end

  def test_the_cap_is_for_whole_bodies
    read = 0
    client(max_body: 10).get(url("/bytes/1000")) { |response| response.each_chunk { |chunk| read += chunk.bytesize } }
    assert_equal 1000, read
  end

  def test_without_a_response_there_is_no_block
    assert_raises(Hecaton::ProtocolError) { client.get(url("/fault/reset")) { flunk } }
  end

  def test_another_thread_may_read
    body = client.get(url("/chunked/1000")) { |response| Thread.new { response.each_chunk.to_a.join }.value }
    assert body.end_with?("chunk 1000\n")
  end

  def test_two_threads_at_once_are_distinguished_and_the_end_of_the_block_ends_a_wait
    waiting = nil
    client(timeout: 30).get(url("/fault/stall-body")) do |response|
      first = response.each_chunk.next
      refute_empty first
      waiting = Thread.new { response.each_chunk {} }
      waiting.report_on_exception = false
      wait_until { waiting.status == "sleep" }
      assert_match(/another thread/, error_of(ThreadError) { response.each_chunk {} }.message)
    end
    error = error_of(Hecaton::CancelledError) { waiting.value }
    assert_equal :read, error.phase
  end

  def test_a_stream_inherited_by_a_child_raises_and_continues_in_the_parent
    body = client.get(url("/chunked/1000")) do |response|
      reader, writer = IO.pipe
      pid = fork do
        reader.close
        begin
          response.each_chunk {}
        rescue Hecaton::ForkError => error
          writer.write(error.message)
        end
        writer.close
        exit!(0)
      end
      writer.close
      assert_match(/forked/, reader.read)
      Process.wait(pid)
      response.each_chunk.to_a.join
    end
    assert body.end_with?("chunk 1000\n")
  end

  def test_a_slow_reader_holds_up_the_server
    sent = read = 0
    flood = lambda do |connection|
      connection.gets("\r\n\r\n")
      connection.write("HTTP/1.1 200 OK\r\n\r\n")
      loop { sent += connection.write("x" * 65_536) }
    end
    Peer.run(flood) do |peer|
      client.get(peer.url) do |response|
        response.each_chunk do |chunk|
          sleep 0.1
          break if (read += chunk.bytesize) > 300_000
        end
        assert_operator sent - read, :<, 32 << 20
      end
    end
  end
end
