# on_headers and on_body of a batch: in order, whole, slow readers hold up the server, and one outcome each.
require "test_helper"
require "digest"
require "scripted"
require "timeout"

class BatchPartsTest < ServerTest
  # A server that writes without end; yields its URL and what it has sent so far.
  def flood(head = "HTTP/1.1 200 OK\r\n\r\n")
    sent = [0]
    play = lambda do |connection|
      connection.gets("\r\n\r\n")
      connection.write(head)
      loop { sent[0] += connection.write("x" * 65_536) }
    end
    Peer.run(play) { |peer| yield peer.url, sent }
  end

  def memory
    GC.start
    File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i << 10
  end

  def test_the_head_then_the_pieces_then_the_outcome
    order = []
    body = +""
    whole = client.get(url("/bytes/5000000"))
    client.batch do |batch|
      batch.get(url("/bytes/5000000"))
        .on_complete { |ended| order << [:complete, ended.status, ended.body, ended.attempts.last.read_time.positive?] }
        .on_headers do |response|
        assert_equal ["5000000", true, "", [200]],
          [response.headers["content-length"], response.success?, response.body, response.attempts.map(&:status)]
        assert_equal url("/bytes/5000000"), response.url
        order << :headers
      end
        .on_body do |chunk|
        assert_equal Encoding::BINARY, chunk.encoding
        assert_operator chunk.bytesize, :<=, 1 << 20
        body << chunk
        order << :body unless order.last == :body
      end
        .on_success { order << :success }
        .on_failure { flunk }
    end
    assert_equal [:headers, :body, [:complete, 200, "", true], :success], order
    assert_equal Digest::SHA256.hexdigest(whole.body), Digest::SHA256.hexdigest(body)
  end

  def test_on_headers_alone_leaves_the_body_to_the_outcome
    seen = []
    small = client(max_body: 10)
    small.batch do |batch|
      batch.get(url("/r/1")).on_headers { |response| seen << response.status }.on_complete { |outcome|
        seen << outcome.class
      }
    end
    assert_equal [200, Hecaton::BodyError], seen
    client = client()
    client.batch do |batch|
      batch.get(url("/r/1")).on_headers { |response| seen << response.body }.on_complete { |outcome|
        seen << outcome.body.bytesize
      }
    end
    assert_equal ["", 133], seen.last(2)
    assert_equal 1, client.idle_connections
  end

  def test_streamed_and_plain_ones_mix_under_one_limit
    client = client()
    read = Hash.new(0)
    plain = []
    real_server.ledger
    client.batch(concurrency: 5) do |batch|
      60.times do |id|
        request = batch.get(url(id.odd? ? "/bytes/400000" : "/r/#{id}"))
        id.odd? ? request.on_body { |chunk| read[id] += chunk.bytesize } : request.on_complete { |outcome|
          plain << outcome.body.bytesize
        }
      end
      assert_equal 60, batch.size
    end
    assert_equal [400_000] * 30, read.values
    assert_equal [133] * 30, plain
    assert_operator client.idle_connections, :<=, 5
    assert_operator client.stats[:opened], :<=, 5
  end

  def test_several_callbacks_are_called_in_order_and_requests_queued_in_them_run_too
    order = []
    client.batch do |batch|
      batch.get(url("/bytes/1"))
        .on_body { order << 3 }.on_headers { order << 1 }.on_headers { order << 2 }
        .on_body { order << 4; batch.get(url("/bytes/1")).on_body { order << 5 } }
    end
    assert_equal [1, 2, 3, 4, 5], order
  end

  def test_a_slow_reader_holds_up_the_server_and_little_memory
    flood do |address, sent|
      before = memory
      read = pieces = 0
      error = error_of(IOError) do
        client(timeout: 60).batch do |batch|
          batch.get(address).on_body do |chunk|
            read += chunk.bytesize
            sleep 0.1
            raise IOError if (pieces += 1) == 8
          end
        end
      end
      assert_instance_of IOError, error
      # The kernel's buffers take some megabytes besides; a server that is not held up sends gigabytes.
      assert_operator sent[0] - read, :<, 32 << 20
      assert_operator memory - before, :<, 32 << 20
    end
  end

  def test_a_flood_keeps_no_other_request_from_its_outcome_and_ends_with_its_time
    flood do |address, _sent|
      with_growing(2) do |limit|
        done = []
        requests = []
        client(timeout: 60).batch(concurrency: 2) do |batch|
          requests << batch.get(address, timeout: limit).on_body { sleep 0.005 } # There is always a piece ready
          5.times { |id|
            requests << batch.get(url("/delay/50")).on_complete { |outcome|
              done << [id, outcome.status, requests[0].outcome]
            }
          }
        end
        error = requests[0].outcome
        assert_equal [Hecaton::TimeoutError, :total], [error.class, error.phase]
        assert_equal (0..4).map { |id| [id, 200] }, done.map { |each| each.first(2) }
        done.all? { |each| each.last.nil? }
      end
    end
  end

  def test_a_body_that_is_cut_is_an_error_behind_its_pieces
    %w[truncate truncate-chunked].each do |fault|
      order = []
      client.batch do |batch|
        batch.get(url("/fault/#{fault}")).on_headers { order << :headers }.on_body { order |= [:body] }
          .on_success { flunk }.on_failure { |outcome| order << outcome.class }
      end
      assert_equal [:headers, :body, Hecaton::BodyError], order
    end
  end

  def test_one_that_fails_before_its_head_has_its_outcome_alone
    outcome = nil
    client.batch { |batch|
      batch.get(url("/fault/reset")).on_headers { flunk }.on_body { flunk }.on_complete { |it| outcome = it }
    }
    assert_instance_of Hecaton::ProtocolError, outcome
  end

  def test_retries_and_redirects_come_before_the_head
    Scripted.run({ "/a" => Scripted.response(302, "Location" => url("/bytes/100000")) }) do |server|
      size = 0
      response = nil
      client(redirects: 1).batch do |batch|
        batch.get("#{server.url}/a").on_headers { |head| response = head }.on_body { |chunk| size += chunk.bytesize }
      end
      assert_equal [200, url("/bytes/100000"), 1, 100_000],
        [response.status, response.url, response.redirects.size, size]
    end
    statuses = []
    client(retry: { statuses: [503], interval: 0.001 }).batch do |batch|
      batch.get(url("/status/503")).on_headers { |head| statuses << [head.status, head.attempts.size] }
    end
    assert_equal [[503, 3]], statuses
  end

  def test_too_late_is_said_so
    client.batch(concurrency: 1) do |batch|
      started = queued = nil
      batch.get(url("/r/1")).on_complete do |outcome|
        assert_equal 200, outcome.status
        %i[on_headers on_body].each do |name|
          assert_match(/#{name} came too late/, error_of(RuntimeError) { started.public_send(name) { flunk } }.message)
        end
        queued.on_body { |chunk| assert_equal 133, chunk.bytesize }
      end
      started = batch.get(url("/r/2"))
      queued = batch.get(url("/r/3"))
      %i[on_headers on_body].each { |name| assert_raises(ArgumentError) { queued.public_send(name) } }
    end
  end

  def test_interrupts_and_exceptions_in_on_body_leave_one_outcome_each_and_no_connection
    client = client(timeout: 30)
    client.get(url("/r/1"))
    before = descriptors
    [-> { sleep }, -> { raise IOError }, -> { throw :out }, -> { Thread.current.kill }].each do |reader|
      requests = with_growing(0.5) do |limit|
        requests = []
        called = false
        Thread.new do
          catch(:out) do
            Timeout.timeout(limit) do
              client.batch(concurrency: 4) do |batch|
                4.times do
                  requests << batch.get(url("/bytes/3000000"))
                  requests.last.on_body { called = true and reader.call }.on_complete { flunk }
                end
                requests << batch.get(url("/bytes/10")).on_body { flunk }
              end
            end
            flunk
          end
        rescue IOError, Timeout::Error
          nil
        end.join
        requests if called
      end
      assert_equal [[Hecaton::CancelledError, true]] * 4 + [[Hecaton::CancelledError, false]],
        requests.map { |request| [request.outcome.class, request.outcome.sent?] }
    end
    client.close
    assert_operator descriptors, :<, before
    assert_equal 200, client.get(url("/r/1")).status
  end

  def test_abort_in_on_body_calls_nobody_and_the_batch_continues
    cut = last = nil
    pieces = 0
    client.batch(concurrency: 2) do |batch|
      other = batch.get(url("/fault/stall-body")).on_complete { flunk }
      cut = batch.get(url("/bytes/3000000")).on_complete { flunk }.on_body do
        pieces += 1
        batch.abort
        last = batch.get(url("/bytes/10")).on_body { |chunk| pieces += chunk.bytesize }
      end
      other.on_body { nil }
    end
    assert_equal [11, Hecaton::CancelledError, 200], [pieces, cut.outcome.class, last.outcome.status]
  end

  def test_raise_for_status_deprecation_and_events_are_once_a_request
    deprecated = []
    reported = []
    subscription = Hecaton.subscribe("request.hecaton") { |event|
      reported << event.payload["http.response.status_code"]
    }
    seen = []
    Scripted.run({ "/old" => Scripted.response(200, { "Deprecation" => "true" }, "hello"),
                   "/gone" => Scripted.response(404, { "Deprecation" => "true" }, "nothing") }) do |server|
      client(raise_for_status: true, on_deprecation: ->(response) { deprecated << response.status })
        .batch(concurrency: 1) do |batch|
        batch.get("#{server.url}/old").on_headers { seen << :headers }.on_body { |chunk| seen << chunk }
        batch.get("#{server.url}/gone").on_headers { flunk }.on_body { flunk }.on_failure { |outcome|
          seen << outcome.class
        }
      end
    end
    assert_equal [200, 404], deprecated
    assert_equal [200, 404], reported
    assert_equal [:headers, "hello", Hecaton::StatusError], seen
  ensure
    subscription&.unsubscribe
  end

  def test_a_child_that_is_forked_in_on_body_leaves_the_parents_alone
    size = 0
    status = nil
    client.batch do |batch|
      batch.get(url("/bytes/1000000")).on_body do |chunk|
        status ||= begin
          reader, writer = IO.pipe
          Process.wait(fork { writer.write(client.get(url("/r/1")).status.to_s); writer.close; exit!(0) })
          writer.close
          reader.read
        end
        size += chunk.bytesize
      end
    end
    assert_equal ["200", 1_000_000], [status, size]
  end

  def test_over_http2_they_share_a_connection
    http2 = TestServer.new("--http2")
    read = Hash.new(0)
    client = client(http: "2")
    plain = []
    client.batch(concurrency: 6) do |batch|
      20.times { |id| batch.get("#{http2.url}/bytes/600000").on_body { |chunk| read[id] += chunk.bytesize } }
      20.times { |id| batch.get("#{http2.url}/r/#{id}").on_complete { |outcome| plain << outcome.http_version } }
    end
    assert_equal [[600_000] * 20, ["2"] * 20], [read.values, plain]
    cut = []
    client.batch { |batch| batch.get("#{http2.url}/bytes/3000000").on_body { cut << 1; batch.abort } }
    assert_equal [1, 200], [cut.size, client.get("#{http2.url}/r/1").status]
  ensure
    assert_equal 1, http2.stop["connections"]
  end
end
