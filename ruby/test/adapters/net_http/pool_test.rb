# Connections belong to a pool: shared by objects and threads, separate by scheme and settings, bounded, and not a
# child's.
require_relative "support"

class NetHTTPPoolTest < NetHTTPTest
  def pool = Hecaton::NetHTTP.pool

  # Connections that the test server saw, without the one that reads its log.
  def connections(real_server = self.real_server) = real_server.ledger["connections"]

  def test_objects_and_threads_share_connections
    request_once = -> { start { |http| Hecaton::NetHTTP.outcome(http.get("/r/1")).attempts.last.connection } }
    first = request_once.call
    assert_equal first, request_once.call
    assert_equal first, Thread.new(&request_once).value
    assert_equal 1, pool.size
    2.times { assert_equal "200", Hecaton::NetHTTP.get_response(URI(url("/r/2"))).code }
    assert_equal 2, pool.size
  end

  def test_one_object_may_be_used_by_many_threads
    start do |http|
      echoed = ->(id) { JSON.parse(http.get("/echo?id=#{id}").body)["path"] }
      ids = Array.new(8) { |thread| Thread.new { Array.new(25) { |index| echoed["#{thread}-#{index}"] } } }
      assert_equal Array.new(8) { |thread| Array.new(25) { |index| "/echo?id=#{thread}-#{index}" } }, ids.map(&:value)
    end
  end

  def test_the_scheme_is_part_of_the_key
    settings = [false, true].map do |tls|
      http = Hecaton::NetHTTP.new(host, port)
      http.use_ssl = tls
      Hecaton::NetHTTP::Settings.of(http)
    end
    refute_equal(*settings)
    start { |http| http.get("/r/1") }
    # A request over TLS to the same host and port must not be sent without TLS: this server has no TLS.
    assert_raises(OpenSSL::SSL::SSLError) { start(use_ssl: true) { |http| http.get("/r/1") } }
  end

  def test_other_settings_are_another_client
    [nil, 5, 6].each { |seconds| start(read_timeout: seconds) { |http| http.get("/r/1") } }
    assert_equal 3, pool.size
    [5, 6].each { |seconds| start(read_timeout: seconds) { |http| http.get("/r/1") } }
    assert_equal 3, pool.size
  end

  def test_no_more_clients_than_are_allowed_and_the_oldest_goes
    held = start
    held.read_timeout = 1000
    assert_equal "200", held.get("/r/1").code
    30.times { |index| start(read_timeout: 100 + index) { |http| http.get("/r/1") } }
    assert_equal 12, pool.size
    assert_operator pool.idle_connections, :<=, 12
    assert_equal "200", held.get("/r/1").code
    assert_equal 12, pool.size
  end

  def test_no_more_connections_than_are_allowed
    real_server = TestServer.new
    Hecaton::NetHTTP.max_connections = 2
    uri = URI(real_server.url)
    threads = Array.new(8) { |index| Thread.new { Hecaton::NetHTTP.get_response(uri + "/delay/20?#{index}").code } }
    assert_equal ["200"], threads.map(&:value).uniq
    assert_operator connections(real_server), :<=, 3
    assert_raises(ArgumentError) { Hecaton::NetHTTP.max_connections = 0 }
    Hecaton::NetHTTP.max_connections = nil
    limit = Process.getrlimit(Process::RLIMIT_NOFILE).first
    assert_equal (limit / 16).clamp(8, 256), Hecaton::NetHTTP.max_connections
  ensure
    real_server&.stop
  end

  def test_a_child_of_fork_has_connections_of_its_own
    http = start
    http.get("/r/1")
    reader, writer = IO.pipe
    pid = fork do
      outcome = Hecaton::NetHTTP.outcome(http.get("/r/2"))
      writer.write(Marshal.dump([outcome.status, outcome.attempts.last.reused?]))
      exit!
    end
    writer.close
    assert_equal [200, false], Marshal.load(reader.read)
    Process.wait(pid)
    assert Hecaton::NetHTTP.outcome(http.get("/r/3")).attempts.last.reused?
  end

  def test_what_was_killed_leaves_no_connection_behind
    start do |http|
      http.get("/r/1")
      in_use = -> { http.send(:hecaton_client).stats[:in_use] }
      thread = Thread.new { http.request_get("/fault/drip") { |response| response.read_body {} } }
      wait_until { in_use.call == 1 }
      assert_equal 1, in_use.call
      thread.kill.join
      wait_until { in_use.call.zero? }
      assert_equal 0, in_use.call
    end
  end

  def test_shutdown_closes_what_waits
    start { |http| http.get("/r/1") }
    assert_equal 1, pool.idle_connections
    assert_nil Hecaton::NetHTTP.shutdown
    assert_equal [0, 0], [pool.idle_connections, pool.size]
    start { |http| assert_equal "200", http.get("/r/1").code }
  end

  def test_a_post_on_a_connection_that_the_server_closed_meanwhile_is_sent_once
    arrived = Queue.new
    closed = Queue.new
    server = lambda do |socket|
      arrived << socket.gets("\r\n\r\n").then { |head| head + socket.read(head[/^content-length: (\d+)/i, 1].to_i) }
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      socket.close
      closed << true
    end
    served(server) do |host, port|
      Hecaton::NetHTTP.start(host, port) do |http|
        2.times do
          assert_equal "ok", http.post("/", "a=1").body
          closed.pop
        end
      end
      assert_equal 2, arrived.size
    end
  end
end
