# Each failure is the error that Net::HTTP raises, with Hecaton's as its cause; and nothing is sent twice.
require_relative "support"

class NetHTTPFailureTest < NetHTTPTest
  def caused(error, klass, phase = nil)
    assert_kind_of klass, error.cause
    assert_equal phase, error.cause.phase if phase
    error
  end

  def test_refused
    port = closed_port
    request_once = ->(klass) {
      assert_raises(Errno::ECONNREFUSED) { klass.start("127.0.0.1", port) { |http| http.get("/") } }
    }
    assert_match(/\AFailed to open TCP connection to 127\.0\.0\.1:#{port} \(/, same { |klass|
      request_once.call(klass).message
    })
    caused(request_once.call(Hecaton::NetHTTP), Hecaton::ConnectError)
  end

  def test_a_name_without_address
    error = same_error { |klass| klass.start("nobody.invalid", 80, nil) { |http| http.get("/") } }
    assert_kind_of SocketError, error
    assert_match(/\AFailed to open TCP connection to nobody\.invalid:80 \(getaddrinfo: /, error.message)
    caused(error, Hecaton::ResolveError)
  end

  def test_what_is_no_host
    ["a b", "[::1]", "a/b", "user@host"].each do |name|
      error = same_error { |klass| klass.start(name, 80, nil) { |http| http.get("/") } }
      assert_kind_of SocketError, error
    end
    [nil, ""].each { |name| refused(/address/) { Hecaton::NetHTTP.start(name, port, nil) { |http| http.get("/") } } }
  end

  def test_read_timeouts
    %w[/fault/stall-head /fault/stall-body].each do |path|
      error = same_error { |klass| start(klass, read_timeout: 0.3, max_retries: 0) { |http| http.get(path) } }
      assert_instance_of Net::ReadTimeout, error
      caused(error, Hecaton::TimeoutError)
      error = same_error { |klass|
        start(klass, read_timeout: 0.3, max_retries: 0) { |http|
          http.request_get(path) { |response| response.read_body {} }
        }
      }
      assert_instance_of Net::ReadTimeout, error
    end
  end

  def test_the_total_ends_what_never_ends
    start(total_timeout: 0.5) do |http|
      error = assert_raises(Net::ReadTimeout) { http.get("/fault/drip") }
      assert_match(/total_timeout/, error.message)
      caused(error, Hecaton::TimeoutError, :total)
    end
    Hecaton::NetHTTP.total_timeout = 0.4
    assert_raises(Net::ReadTimeout) {
      start { |http| http.request_get("/fault/drip") { |response| response.read_body {} } }
    }
  end

  def test_open_timeout_counts_for_tls
    served(->(_socket) { sleep }) do |host, port|
      error = same_error { |klass| klass.start(host, port, use_ssl: true, open_timeout: 1) { |http| http.get("/") } }
      assert_instance_of Net::OpenTimeout, error
      caused(error, Hecaton::TimeoutError, :tls)
    end
  end

  def test_a_server_that_reads_nothing
    served(->(_socket) { sleep }) do |host, port|
      body = "x" * 20_000_000
      error = same_error { |klass|
        klass.start(host, port, write_timeout: 0.3, max_retries: 0) { |http|
          http.post("/", body, "content-type" => "a/b")
        }
      }
      assert_instance_of Net::WriteTimeout, error
      caused(error, Hecaton::TimeoutError, :send)
    end
  end

  def test_an_end_before_the_response
    error = same_error { |klass| start(klass) { |http| http.post("/fault/close", "a=1") } }
    assert_instance_of EOFError, error
    caused(error, Hecaton::ProtocolError)
    error = same_error { |klass| start(klass) { |http| http.post("/fault/reset", "a=1") } }
    assert_instance_of Errno::ECONNRESET, error
    same_error { |klass|
      start(klass) { |http| http.request_post("/fault/close", "a=1") { |response| response.read_body } }
    }
  end

  def test_what_is_not_http
    error = same_error { |klass| start(klass) { |http| http.get("/fault/garbage") } }
    assert_instance_of Net::HTTPBadResponse, error
    caused(error, Hecaton::ProtocolError)
  end

  def test_a_body_that_is_cut_short_is_an_error
    %w[/fault/truncate /fault/truncate-chunked].each do |path|
      caused(assert_raises(EOFError) { start { |http| http.get(path) } }, Hecaton::BodyError)
      caused(assert_raises(EOFError) { start { |http| http.request_get(path) { |response| response.read_body {} } } },
        Hecaton::BodyError)
    end
  end

  def test_but_not_if_the_client_ignores_it
    skip "this Net::HTTP has no ignore_eof" unless Net::HTTP.method_defined?(:ignore_eof=)

    same_started(ignore_eof: true) { |http| http.get("/fault/truncate").body.bytesize }
    assert_raises(EOFError) { start(ignore_eof: false) { |http| http.get("/fault/truncate") } }
  end

  # Once, as the engine does for every idempotent request whose connection ended before a byte of the response.
  def test_a_request_whose_connection_ended_is_sent_once_more
    %w[get delete options].each do |verb|
      sent = requests_of do
        assert_raises(EOFError) { start { |http| http.public_send(verb, "/fault/close") } }
      end
      assert_equal 2, sent, verb
    end
  end

  def test_nothing_is_sent_again_without_retries
    sent = requests_of do
      assert_raises(EOFError) { start(max_retries: 0) { |http| http.get("/fault/close") } }
    end
    assert_equal 1, sent
  end

  def test_max_retries_says_how_often_in_all
    error = nil
    sent = requests_of do
      error = assert_raises(EOFError) { start(max_retries: 2) { |http| http.get("/fault/close") } }
    end
    assert_equal [3, 3], [sent, error.cause.attempts.size]
    sent = requests_of do
      assert_raises(EOFError) { start(max_retries: 2) { |http| http.post("/fault/close", "a=1") } }
    end
    assert_equal 1, sent
    assert_raises(ArgumentError) { Hecaton::NetHTTP.new(host, port).max_retries = -1 }
  end

  def test_timeout_of_ruby_and_a_killed_thread_leave_the_object_usable
    start do |http|
      assert_raises(Timeout::Error) { Timeout.timeout(0.2) { http.get("/delay/60000") } }
      started = real_server.ledger["requests"]
      thread = Thread.new { http.get("/delay/60000") }
      wait_until { thread.status == "sleep" && Hecaton::NetHTTP.pool.idle_connections.zero? }
      thread.kill.join
      assert_equal 3, http.get("/bytes/3").body.bytesize
      assert_operator real_server.ledger["requests"], :>, started
    end
  end
end
