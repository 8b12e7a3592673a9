# What `start` does: it connects and raises as Net::HTTP's does, and the first request uses its connection.
require_relative "support"

class NetHTTPStartTest < NetHTTPTest
  def flunk_if_called = ->(_http) { flunk "the block was called" }

  def test_start_raises_what_keeps_it_from_connecting
    port = closed_port
    error = same_error { |klass| klass.start("127.0.0.1", port, &flunk_if_called) }
    assert_instance_of Errno::ECONNREFUSED, error
    assert_kind_of Hecaton::ConnectError, error.cause
    same_error { |klass| klass.start("nobody.invalid", 80, nil, &flunk_if_called) }
    same_error { |klass| klass.start("target.invalid", 80, "127.0.0.1", port, &flunk_if_called) }
    assert_instance_of OpenSSL::SSL::SSLError, same_error { |klass| start(klass, use_ssl: true, &flunk_if_called) }
  end

  def test_start_waits_for_tls_as_long_as_open_timeout_says
    served(->(_socket) { sleep }) do |host, port|
      error = same_error { |klass| klass.start(host, port, use_ssl: true, open_timeout: 1, &flunk_if_called) }
      assert_instance_of Net::OpenTimeout, error
    end
  end

  def test_an_object_that_could_not_connect_is_not_started
    same do |klass|
      http = klass.new("127.0.0.1", closed_port)
      2.times { assert_raises(Errno::ECONNREFUSED) { http.start } }
      http.started?
    end
  end

  def test_the_first_request_uses_the_connection_of_start
    accepted = Queue.new
    answer = lambda do |socket|
      accepted << socket
      2.times do
        socket.gets("\r\n\r\n")
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      end
    end
    served(answer) do |host, port|
      same do |klass|
        klass.start(host, port, keep_alive_timeout: 60) do |http|
          accepted.pop # It has connected before any request.
          2.times.map { http.get("/").body } << accepted.size
        end
      end
    end
  end

  def test_the_first_request_on_it_is_not_called_reused
    reused = start { |http| 2.times.map { Hecaton::NetHTTP.outcome(http.get("/r/1")).attempts.last.reused? } }
    assert_equal [false, true], reused
  end

  def test_start_opens_no_second_connection_beside_an_idle_one
    with_own_server do |server|
      start { |http| http.get("/r/1") }
      before = server.ledger["connections"]
      3.times { start {} }
      assert_equal before, server.ledger["connections"]
      assert_equal 1, Hecaton::NetHTTP.pool.idle_connections
    end
  end

  def test_a_connection_that_the_server_has_closed_before_the_first_request_is_replaced
    closed = Queue.new
    posts = Queue.new
    first = true
    answer = lambda do |socket|
      if first
        first = false
        socket.close
        next closed << true
      end
      posts << socket.gets("\r\n\r\n")
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    end
    served(answer) do |host, port|
      Hecaton::NetHTTP.start(host, port) do |http|
        closed.pop
        assert_equal "200", http.post("/", "").code
      end
      assert_equal 1, posts.size
    end
  end

  # A connection that is not kept would be opened in vain.
  def test_start_connects_nothing_if_no_idle_connection_is_kept
    Hecaton::NetHTTP.start("127.0.0.1", closed_port, keep_alive_timeout: 0) do |http|
      assert http.started?
      assert_raises(Errno::ECONNREFUSED) { http.get("/") }
    end
  end

  def test_start_connects_nothing_while_stubs_may_respond
    require "hecaton/testing" # From here on no request reaches the network.
    Hecaton.stub(:get, "http://stubbed.invalid/").returns(body: "stub")
    assert_equal "stub", Hecaton::NetHTTP.start("stubbed.invalid", 80) { |http| http.get("/").body }
  ensure
    Hecaton::Testing.reset
    Hecaton::Testing.disable!
  end
end
