# Each timeout of Faraday's limits what its name says, and a total is always there.
require_relative "faraday_helper"
require "scripted"

class FaradayTimesTest < FaradayTest
  # The Faraday error and the phase of Hecaton's.
  def failure(kind, &block)
    error = assert_raises(kind, &block)
    assert_instance_of Hecaton::TimeoutError, error.cause
    error.cause.phase
  end

  # A port that takes connections and says nothing.
  def silent
    listener = TCPServer.new("127.0.0.1", 0)
    yield listener.local_address.ip_port
  ensure
    listener.close
  end

  def settings(**request)
    given = request.delete(:given) || {}
    Faraday::Adapter::Hecaton::Settings.new(given).of(Faraday::RequestOptions.from(request), nil)
  end

  def test_timeout_is_the_total_even_while_bytes_come
    drip = lambda do |connection|
      connection.gets("\r\n\r\n")
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
      loop { connection.write("x"); sleep 0.02 }
    end
    Peer.run(drip) do |peer|
      assert_equal :total, failure(Faraday::TimeoutError) {
        connection(peer.url, request: { timeout: 0.3, read_timeout: 30 }).get("/")
      }
    end
  end

  def test_a_requests_own_timeout_goes_before_the_connections
    held = server { :hang }
    conn = connection(held.url, request: { timeout: 60 })
    assert_equal :total, failure(Faraday::TimeoutError) { conn.get("/") { |request| request.options.timeout = 0.1 } }
  end

  def test_open_timeout_limits_tls_and_is_a_failed_connection
    silent do |port|
      conn = connection("https://127.0.0.1:#{port}", request: { timeout: 60, open_timeout: 0.3 })
      assert_equal :tls, failure(Faraday::ConnectionFailed) { conn.get("/") }
    end
  end

  def test_read_timeout_limits_the_wait_for_the_head_and_between_pieces
    conn = connection(server { :hang }.url, request: { timeout: 60, read_timeout: 0.1 })
    assert_equal :first_byte, failure(Faraday::TimeoutError) { conn.get("/") }
    silent_after("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc") do |url|
      with_growing(0.7) do |limit|
        slow = connection(url, request: { timeout: 60, read_timeout: limit })
        pieces = []
        phases = [failure(Faraday::TimeoutError) { slow.get("/") },
                  failure(Faraday::TimeoutError) {
                    slow.get("/") { |r| r.options.on_data = proc { |chunk, *| pieces << chunk } }
                  }]
        assert_equal "abc", pieces.join if phases.last == :read
        phases == %i[read read]
      end
    end
  end

  def test_write_timeout_limits_the_sending
    silent do |port|
      conn = connection("http://127.0.0.1:#{port}", request: { timeout: 60, write_timeout: 0.1 })
      assert_equal :send, failure(Faraday::TimeoutError) { conn.post("/", "x" * 50_000_000) }
    end
  end

  def test_without_a_word_of_time_all_phases_have_sixty_seconds_and_the_whole_three_hundred
    phases = settings.values_at(:resolve_timeout, :connect_timeout,
      :tls_timeout, :send_timeout, :first_byte_timeout, :read_timeout)
    assert_equal [[60], 300], [phases.uniq, settings[:timeout]]
  end

  def test_where_the_total_is_given_it_alone_limits_the_phases
    given = settings(timeout: 5)
    assert_equal [nil],
      given.values_at(:resolve_timeout, :tls_timeout, :send_timeout, :first_byte_timeout, :read_timeout).uniq
    assert_operator given[:connect_timeout], :>, 3600
    assert_equal given, settings(timeout: 7), "requests of any total share connections"
    assert_equal 2, settings(timeout: 5, given: { connect_timeout: 2 })[:connect_timeout]
    assert_equal 1, settings(timeout: 5, open_timeout: 1, given: { connect_timeout: 2 })[:connect_timeout]
    assert_equal 20, settings(given: { timeout: 20 })[:timeout]
  end

  def test_long_phases_without_a_total_have_room
    assert_equal 1200, settings(read_timeout: 600, write_timeout: 600)[:timeout]
  end

  def test_a_time_that_is_none_is_refused
    [{ timeout: "5" }, { timeout: -1 }, { open_timeout: "x" }, { read_timeout: -1 }].each do |request|
      error = assert_raises(Faraday::Error, request.to_s) { connection(request: request).get("/r/1") }
      assert_match(/not a time in seconds/, error.message)
    end
  end

  private

  # A server that says this and nothing more.
  def silent_after(said)
    play = lambda do |connection|
      connection.gets("\r\n\r\n")
      connection.write(said)
      sleep
    end
    Peer.run(play) { |peer| yield peer.url }
  end
end
