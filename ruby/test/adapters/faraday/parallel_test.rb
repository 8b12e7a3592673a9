# in_parallel: requests run at once, each gets its outcome, and no failure is lost.
require_relative "faraday_helper"

class FaradayParallelTest < FaradayTest
  ADAPTER = Faraday::Adapter::Hecaton

  # Whether Faraday hands its block to the manager.
  def executes? = TWO

  # A server that responds only when this number of requests has arrived.
  def together(number)
    lock = Mutex.new
    all = ConditionVariable.new
    here = 0
    server do |request|
      lock.synchronize do
        here += 1
        all.broadcast
        all.wait(lock, 20) while here < number
      end
      [200, {}, request.target]
    end
  end

  def test_requests_are_in_flight_together
    conn = connection(together(10).url)
    responses = []
    conn.in_parallel do
      10.times { |index| responses << conn.get("/#{index}") }
      assert_equal [nil], responses.map(&:status).uniq
      assert_equal [false], responses.map(&:finished?).uniq
    end
    assert_equal (0...10).map { |index| "/#{index}" }, responses.map(&:body)
    assert(responses.all? { |response| response.env[:hecaton_response].attempts.size == 1 })
  end

  def test_a_manager_says_how_many
    lock = Mutex.new
    now = most = 0
    counting = server do
      lock.synchronize { most = [most, now += 1].max }
      sleep 0.02
      lock.synchronize { now -= 1 }
      [200, {}]
    end
    conn = connection(counting.url)
    responses = []
    conn.in_parallel(ADAPTER.setup_parallel_manager(concurrency: 3)) { 12.times { responses << conn.get("/") } }
    assert_equal [12, 3], [responses.count(&:success?), most]
    assert_raises(ArgumentError) { ADAPTER.setup_parallel_manager(nonsense: 1) }
  end

  def test_callbacks_may_send_more
    conn = connection
    bodies = []
    conn.in_parallel do
      conn.get("/r/1").on_complete do |env|
        bodies << env.status
        conn.get("/r/2").on_complete { |second| bodies << second.status }
      end
    end
    assert_equal [200, 200], bodies
  end

  def test_a_failure_is_raised_when_all_have_ended
    conn = connection(request: { timeout: 30 })
    responses = []
    bad = "http://127.0.0.1:#{closed_port}/"
    error = assert_raises(Faraday::ConnectionFailed) do
      conn.in_parallel { responses.push(conn.get("/r/1"), conn.get(bad), conn.get("/r/3")) }
    end
    assert_instance_of Hecaton::ConnectError, error.cause
    refute_predicate conn, :in_parallel?
    assert_equal [200, 0, 200], responses.map(&:status)
    failed = responses[1]
    assert_equal ["", false, error], [failed.body, failed.success?, failed.env[:hecaton_error]]
    assert_equal 200, conn.get("/r/1").status
  end

  def test_failures_may_be_left_to_the_responses
    conn = connection
    responses = []
    conn.in_parallel(ADAPTER.setup_parallel_manager(raise_errors: false)) do
      responses.push(conn.get("http://127.0.0.1:#{closed_port}/"),
        conn.get("/r/1"), conn.get("/r/2", nil, "X-A" => "a\nb"))
    end
    assert_equal [0, 200, 0], responses.map(&:status)
    assert_equal [Faraday::ConnectionFailed, nil, Faraday::Error],
      (responses.map { |response| response.env[:hecaton_error]&.class })
  end

  def test_what_a_middleware_raises_keeps_none_of_the_others
    conn = connection { |faraday| faraday.response(:raise_error) }
    responses = []
    assert_raises(Faraday::ServerError) do # The first in the list, not the first that ended.
      conn.in_parallel { ["status/500", "status/404", "r/1"].each { |path| responses << conn.get("/#{path}") } }
    end
    assert_equal [500, 404, 200], responses.map(&:status)
  end

  def test_streams_in_parallel
    conn = connection(server { |request| [200, { "X-A" => request.path }, request.path * 50_000] }.url)
    pieces = Hash.new { |all, path| all[path] = [] }
    responses = %w[/a /b].map { |path| [path, nil] }.to_h
    conn.in_parallel do
      responses.each_key do |path|
        responses[path] = conn.get(path) { |request|
          request.options.on_data = proc { |chunk, size| pieces[path] << [chunk, size] }
        }
      end
    end
    responses.each do |path, response|
      assert_equal ["", path, path * 50_000, 100_000],
        [response.body, response["x-a"], pieces[path].map(&:first).join, pieces[path].last.last]
    end
  end

  def test_requests_of_different_settings_are_in_flight_together
    conn = connection(together(4).url)
    responses = []
    conn.in_parallel do
      4.times { |index|
        responses << conn.get("/r/#{index}") { |request| request.options.open_timeout = 30 + index % 3 }
      }
    end
    assert_equal [200] * 4, responses.map(&:status)
    assert(responses.all? { |response| response.env[:hecaton_response].attempts.size == 1 })
  end

  def test_a_callback_may_send_more_with_other_settings
    conn = connection
    order = []
    slow = server do
      wait_until { order.any? }
      [200, {}]
    end
    conn.in_parallel do
      conn.get(slow.url).on_complete { order << :slow }
      conn.get("/r/1").on_complete do
        conn.get("/r/2") { |request| request.options.open_timeout = 31 }.on_complete { |env| order << env.status }
      end
    end
    assert_equal [200, :slow], order
  end

  def test_bodies_in_parallel
    conn = connection
    io = StringIO.new("shared")
    responses = []
    conn.in_parallel {
      responses.push(conn.post("/echo", io), conn.post("/echo", io), conn.post("/echo", "text"), conn.post("/echo"))
    }
    assert_equal ["shared", "shared", "text", ""], (responses.map { |response| seen(response)["body"] })
    assert_equal 0, io.pos
  end

  def test_an_exception_in_the_block_sends_nothing
    conn = connection(server { [200, {}] }.url)
    2.times do
      assert_raises(RuntimeError) do
        conn.in_parallel do
          conn.get("/")
          raise "no"
        end
      end
    end
    assert_empty @servers.first.arrived
    conn.in_parallel { conn.get("/") }
    assert_equal executes? ? 1 : 3, @servers.first.arrived.size,
      "Faraday 1 does not notify the manager that its block was left"
  end

  def test_an_interrupt_ends_all_and_closes_their_connections
    held = server { :hang }
    conn = connection(held.url, request: { open_timeout: 41 }) # A client of its own, to count its connections.
    request_once = -> { conn.in_parallel { 3.times { conn.get("/") } } }
    assert_raises(Timeout::Error) { Timeout.timeout(0.5) { request_once.call } }
    refute_predicate conn, :in_parallel?
    wait_until(1) { held.requests.size == 3 }
    held.arrived
    thread = Thread.new(&request_once)
    wait_until { held.requests.size == 3 }
    assert thread.kill.join(10)
    client = conn.app.build_connection(Faraday::Env.from(request: conn.options, ssl: conn.ssl))
    assert_equal [0, 0], client.stats.values_at(:in_use, :idle)
  end

  def test_each_request_has_its_outcome_after_an_interrupt
    held = server { |request| request.path == "/held" ? :hang : [200, {}] }
    conn = connection(held.url)
    manager = ADAPTER.setup_parallel_manager(concurrency: 2)
    responses, notified = with_growing(0.5) do |limit|
      responses, notified = [], []
      assert_raises(Timeout::Error) do
        Timeout.timeout(limit) do
          conn.in_parallel(manager) do
            %w[/a /held /b /held /never].each { |path| responses << conn.get(path).on_complete { notified << path } }
          end
        end
      end
      assert(responses.all?(&:finished?))
      [responses, notified] if responses.map(&:status) == [200, 0, 200, 0, 0]
    end
    assert_equal %w[/a /b /held /held /never], notified.sort
    errors = responses.map { |response| response.env[:hecaton_error]&.cause&.class }
    assert_equal [nil, Hecaton::CancelledError, nil, Hecaton::CancelledError, Hecaton::CancelledError], errors
    conn.in_parallel(manager) { responses << conn.get("/a") } # The failures of that run are none of this one's.
    assert_equal 200, responses.last.status
  end

  def test_a_request_that_is_queued_after_an_interrupt_is_refused
    held = server { :hang }
    conn = connection(held.url)
    refused = nil
    assert_raises(Interrupt) do
      conn.in_parallel do
        conn.get("http://127.0.0.1:1/").on_complete { raise Interrupt }
        conn.get("/").on_complete { refused = assert_raises(Faraday::Error) { conn.get("/") } }
      end
    end
    assert_match(/in_parallel was left/, refused.message)
  end

  def test_a_second_interrupt_keeps_no_request_from_finishing
    held = server { :hang }
    conn = connection(held.url)
    responses, notified = [], []
    assert_raises(Interrupt) do
      conn.in_parallel do
        conn.get("http://127.0.0.1:1/").on_complete { raise Interrupt }
        6.times { |index| responses << conn.get("/").on_complete { notified << index; raise Interrupt if index < 3 } }
      end
    end
    assert(responses.all?(&:finished?))
    assert_equal (0..5).to_a, notified.sort
  end

  def test_no_exception_of_another_thread_reaches_an_in_parallel
    served = server { [200, {}] }
    manager = ADAPTER.setup_parallel_manager(concurrency: 2)
    20.times do
      results = Array.new(2) do |number|
        conn = connection(served.url)
        Thread.new do
          Thread.current.report_on_exception = false
          responses = []
          begin
            conn.in_parallel(manager) do
              8.times { |index|
                responses << conn.get("/").on_complete { raise NotImplementedError if number == 1 && index == 4 }
              }
            end
          rescue NotImplementedError
            next :raised
          end
          responses.map(&:status)
        end
      end.map(&:value)
      assert_equal [[200] * 8, :raised], results
    end
  end

  def test_a_fiber_that_stops_in_a_callback_holds_up_no_other
    conn = connection(server { [200, {}] }.url)
    manager = ADAPTER.setup_parallel_manager
    stopped = Fiber.new {
      conn.in_parallel(manager) { 4.times { |index| conn.get("/").on_complete { Fiber.yield if index == 1 } } }
    }
    stopped.resume
    other = connection(@servers.first.url)
    response = nil
    thread = Thread.new { Fiber.new { other.in_parallel(manager) { response = other.get("/") } }.resume }
    assert thread.join(20)
    other.in_parallel(manager) { response = other.get("/") } # In the thread of the fiber that stopped.
    assert_equal 200, response.status
    stopped.resume
  end

  def test_an_interrupt_in_a_callback_keeps_no_request_from_finishing_and_finishes_none_twice
    conn = connection(server { [200, {}] }.url)
    responses, notified = [], []
    assert_raises(Interrupt) do
      conn.in_parallel(ADAPTER.setup_parallel_manager(concurrency: 1)) do
        3.times do |index|
          responses << conn.get("/").on_complete { notified << index; raise Interrupt if index.zero? }
        end
      end
    end
    assert_equal [0, 1, 2], notified.sort
    assert_equal [200, 0, 0], responses.map(&:status)
  end

  def test_threads_share_a_manager
    served = server { |request| request.path == "/0/3" ? "no HTTP\r\n\r\n" : [200, {}, request.path] }
    manager = ADAPTER.setup_parallel_manager
    responses = Array.new(2) { [] }
    errors = Array.new(2) do |number|
      conn = connection(served.url)
      Thread.new do
        conn.in_parallel(manager) { 10.times { |index| responses[number] << conn.get("/#{number}/#{index}") } }
      rescue Faraday::Error => error
        error.class
      end
    end.map(&:value)
    assert_equal [Faraday::ConnectionFailed, nil], errors
    expected = Array.new(2) { |number|
      Array.new(10) { |index| number.zero? && index == 3 ? "" : "/#{number}/#{index}" }
    }
    assert_equal expected, (responses.map { |own| own.map(&:body) })
  end
end

# All of it with a connection that hands its block to the manager's execute, as Faraday 2 does.
class FaradayExecuteTest < FaradayParallelTest
  module Executing
    def in_parallel(manager = nil, &block)
      @parallel_manager = manager || default_parallel_manager
      @parallel_manager.execute(&block)
    ensure
      @parallel_manager = nil
    end
  end
  private_constant :Executing

  def executes? = true

  def connection(...) = super.extend(Executing)

  def test_an_in_parallel_in_a_callback_joins_the_one_that_runs
    conn = connection
    manager = ADAPTER.setup_parallel_manager
    inner = []
    conn.in_parallel(manager) do
      conn.get("/r/1").on_complete {
        conn.in_parallel(manager) { 3.times { |number| inner << conn.get("/r/#{number}") } }
      }
    end
    assert_equal [200] * 3, inner.map(&:status)
  end
end
