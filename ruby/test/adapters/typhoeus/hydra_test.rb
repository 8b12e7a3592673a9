# Many requests at once: order, limits, what ends a run early, and what the original gets wrong.
require_relative "drop_in"
require "scripted"
require "timeout"

class TyphoeusHydraTest < DropInTest
  class Noting < Typhoeus::Request
    attr_reader :noted

    def response=(response)
      (@noted ||= []) << response.code
      super
    end
  end

  def test_a_subclass_that_overrides_the_setter_of_the_response_is_called_once
    request = Noting.new(url("/r/1"), timeout: 20)
    called = []
    request.on_complete { |response| called << response.equal?(request.response) }
    hydra = Typhoeus::Hydra.new
    hydra.queue(request)
    hydra.run
    assert_equal [[200], [true]], [request.noted, called]
  end

  def test_all_run_and_refill_the_queue
    hydra = Typhoeus::Hydra.new(max_concurrency: 10)
    left = 100
    codes = []
    refill = lambda do
      next if left.zero?

      left -= 1
      hydra.queue(request("/r/#{left}") { |response| codes << response.code; refill.call })
    end
    10.times { refill.call }
    hydra.run
    assert_equal [200] * 100, codes
    assert_empty hydra.queued_requests
  end

  def test_no_more_than_the_limit_are_under_way
    with_real_server("--delay", "20ms") do |real_server|
      hydra = Typhoeus::Hydra.new(max_concurrency: 5)
      40.times { |number| hydra.queue(Typhoeus::Request.new("#{real_server.url}/r/#{number}", timeout: 20)) }
      hydra.run
      assert_equal [40, 5], real_server.ledger.values_at("requests", "peak_in_flight")
    end
  end

  # The original continues without any limit.
  def test_a_limit_that_is_lowered_holds
    with_real_server("--delay", "20ms") do |real_server|
      hydra = Typhoeus::Hydra.new(max_concurrency: 5)
      40.times do |number|
        request = Typhoeus::Request.new("#{real_server.url}/r/#{number}", timeout: 20)
        request.on_complete { hydra.max_concurrency = 2 }
        hydra.queue(request)
      end
      hydra.run
      assert_equal [40, 5], real_server.ledger.values_at("requests", "peak_in_flight")
    end
  end

  def test_max_total_connections_limits_too
    with_real_server("--delay", "20ms") do |real_server|
      hydra = Typhoeus::Hydra.new(max_total_connections: 3)
      12.times { |number| hydra.queue(Typhoeus::Request.new("#{real_server.url}/r/#{number}", timeout: 20)) }
      hydra.run
      assert_equal 3, real_server.ledger.fetch("peak_in_flight")
    end
  end

  # The original returns without a word, and without having done anything.
  def test_requests_that_may_never_start_are_an_error
    hydra = Typhoeus::Hydra.new(max_concurrency: 0)
    hydra.queue(request("/r/1"))
    assert_match(/1 requests are queued and none may start/, refused(Ethon::Errors::InvalidValue) { hydra.run }.message)
    hydra.max_concurrency = 1
    hydra.run
    assert_empty hydra.queued_requests
  end

  # As in the original.
  def test_the_rest_runs_when_a_callback_allows_none_at_once
    hydra = Typhoeus::Hydra.new(max_concurrency: 2)
    codes = []
    6.times do |number|
      hydra.queue(request("/r/#{number}") do |response|
        codes << response.code
        hydra.max_concurrency = 0
      end)
    end
    hydra.run
    assert_equal [200] * 6, codes
  end

  # The original responds to only 200 of them. Their options forbid the scheme of the URL.
  def test_thousands_that_are_never_sent
    hydra = Typhoeus::Hydra.new(max_concurrency: 50)
    codes = Hash.new(0)
    5000.times do
      request = Typhoeus::Request.new("ftp://127.0.0.1/", protocols: [:http], timeout: 20)
      request.on_complete { |response| codes[response.return_code] += 1 }
      hydra.queue(request)
    end
    hydra.run
    assert_equal({ unsupported_protocol: 5000 }, codes)
  end

  def test_options_of_a_hydra_by_strings
    assert_equal 3, Typhoeus::Hydra.new("max_concurrency" => 3).max_concurrency
    refused { Typhoeus::Hydra.new("max_concurency" => 3) }
  end

  def test_thousands_of_stubs
    Typhoeus.stub(/stubbed/).and_return(Typhoeus::Response.new(code: 200))
    assert_equal 6000, responded("http://stubbed.example/")
  end

  # The original's stack is not deep enough.
  def test_thousands_that_before_responds_to
    Typhoeus.before { |request| request.finish(Typhoeus::Response.new(code: 200)) && false }
    assert_equal 6000, responded("http://before.example/")
  end

  def responded(address)
    hydra = Typhoeus::Hydra.new
    count = 0
    6000.times do
      request = Typhoeus::Request.new(address)
      request.on_complete { count += 1 }
      hydra.queue(request)
    end
    hydra.run
    count
  end

  # As in the original, where this works by chance.
  def test_an_exception_in_a_callback_leaves_the_rest_for_the_next_run
    with_real_server("--delay", "20ms") do |real_server|
      hydra = Typhoeus::Hydra.new(max_concurrency: 3)
      ended = []
      10.times do |number|
        request = Typhoeus::Request.new("#{real_server.url}/r/#{number}", timeout: 20)
        request.on_complete { |response| ended << response.code; raise "at #{number}" if ended.size == 2 }
        hydra.queue(request)
      end
      assert_match(/\Aat /, assert_raises(RuntimeError) { hydra.run }.message)
      assert_equal 2, ended.size
      hydra.run
      assert_equal [200] * 10, ended
      assert_equal [10, 0], real_server.ledger.values_at("requests", "duplicates")
    end
  end

  def test_a_run_in_a_callback
    hydra = Typhoeus::Hydra.new(max_concurrency: 2)
    ended = []
    5.times { |number| hydra.queue(request("/r/#{number}") { ended << number; hydra.run if number.zero? }) }
    hydra.run
    assert_equal [*0..4], ended.sort
  end

  def test_queue_front_add_dequeue_and_abort
    hydra = Typhoeus::Hydra.new(max_concurrency: 1)
    ended = []
    3.times { |number| hydra.queue(request("/r/#{number}") { ended << number }) }
    hydra.queue_front(request("/r/9") { ended << 9 })
    hydra.add(request("/r/8") { ended << 8 })
    hydra.run
    assert_equal [8, 9, 0, 1, 2], ended
    hydra.queue(request("/r/7") { ended << 7 })
    hydra.dequeue
    hydra.queue(request("/r/6") { ended << 6 })
    hydra.abort
    hydra.run
    assert_equal 7, ended.last
  end

  def test_each_thread_has_a_hydra
    assert_same Typhoeus::Hydra.hydra, Typhoeus::Hydra.hydra
    refute_same Typhoeus::Hydra.hydra, Thread.new { Typhoeus::Hydra.hydra }.value
  end

  # With the original this is NoMethodError.
  def test_memoize_without_a_hydra
    Typhoeus::Config.memoize = true
    assert_equal 200, request("/r/1").run.code
  end

  def test_requests_of_other_settings_run_beside
    with_real_server("--delay", "50ms") do |real_server|
      hydra = Typhoeus::Hydra.new(max_concurrency: 6)
      codes = []
      30.times do |number|
        request = Typhoeus::Request.new("#{real_server.url}/r/#{number}", timeout: 20, connecttimeout: 3 + number % 3)
        request.on_complete { |response| codes << [response.code, Thread.current] }
        hydra.queue(request)
      end
      hydra.run
      assert_equal [[200, Thread.current]] * 30, codes
      assert_equal [30, 0, 6], real_server.ledger.values_at("requests", "duplicates", "peak_in_flight")
    end
  end

  def test_bodies_in_pieces_beside_whole_ones
    hydra = Typhoeus::Hydra.new(max_concurrency: 4)
    seen = Hash.new(0)
    threads = []
    4.times do |number|
      whole = request("/bytes/1000") { |response| seen[:whole] += response.body.bytesize }
      pieces = request("/bytes/100000") { |response| seen[[:rest, response.body]] += 1 }
      pieces.on_headers { |response| seen[response.code] += 1 }
      pieces.on_body { |chunk| threads << Thread.current; seen[:pieces] += chunk.bytesize }
      hydra.queue(number.even? ? whole : pieces)
      hydra.queue(number.even? ? pieces : whole)
    end
    hydra.run
    assert_equal({ whole: 4000, pieces: 400_000, 200 => 4, [:rest, ""] => 4 }, seen)
    assert_equal [Thread.current], threads.uniq
  end

  def test_pieces_are_handed_over_while_others_are_slow
    hydra = Typhoeus::Hydra.new
    order = []
    held = lambda do |_|
      wait_until { order.any? }
      Scripted.response(200)
    end
    Scripted.run("/" => held) do |server|
      slow = Typhoeus::Request.new("#{server.url}/", timeout: 100)
      slow.on_complete { order << :slow }
      hydra.queue(slow)
      pieces = request("/bytes/1000000") { order << :pieces }
      pieces.on_body { nil }
      hydra.queue(pieces)
      hydra.run
    end
    assert_equal %i[pieces slow], order
  end

  def test_abort_ends_one_body_and_no_other
    hydra = Typhoeus::Hydra.new
    codes = {}
    large = request("/bytes/50000000") { |response| codes[:large] = response.return_code }
    large.on_body { :abort }
    hydra.queue(large)
    hydra.queue(request("/r/1") { |response| codes[:small] = response.return_code })
    hydra.run
    assert_equal({ large: :write_error, small: :ok }, codes)
  end

  def test_an_exception_in_on_body_comes_out_of_run
    hydra = Typhoeus::Hydra.new
    codes = []
    large = request("/bytes/50000000") { |response| codes << response.return_code }
    large.on_body { raise "enough" }
    hydra.queue(large)
    hydra.queue(request("/r/1") { |response| codes << response.return_code })
    assert_equal "enough", assert_raises(RuntimeError) { hydra.run }.message
    hydra.run
    assert_equal %i[aborted_by_callback ok], codes.sort
  end

  # As in the original, whatever the other settings are.
  def test_a_slow_request_holds_up_no_request_with_other_settings
    [{ connecttimeout: 5 }, { forbid_reuse: true }, { ssl_verifypeer: false }, { cookiefile: "" },
     { http_version: :httpv1_1 }].each do |options|
      hydra = Typhoeus::Hydra.new(max_concurrency: 5)
      order = []
      # It responds when all others have ended.
      held = lambda do |_|
        wait_until { order.size == 20 }
        Scripted.response(200)
      end
      Scripted.run("/" => held) do |server|
        slow = Typhoeus::Request.new("#{server.url}/", timeout: 100)
        slow.on_complete { order << :slow }
        hydra.queue(slow)
        20.times { hydra.queue(request("/r/1", **options) { order << :quick }) }
        hydra.run
      end
      assert_equal [:quick] * 20 + [:slow], order, options
    end
  end

  # Ways to leave a run in a callback.
  LEAVING = {
    raise: -> { raise "leave" }, throw: -> { throw :leave }, thread_raise: -> { Thread.current.raise("leave") },
    interrupt: -> { raise Interrupt }, thread_raise_later: ->(main = Thread.current) {
                                                             Thread.new {
                                                               main.raise("leave")
                                                             }.join
                                                           }
  }.freeze

  # As in the original. Each request has its callback once, and each is sent once.
  def test_a_run_that_was_left_continues_wherever_it_was_left
    LEAVING.each do |name, leave|
      3.times do |at|
        with_real_server do |real_server|
          hydra = Typhoeus::Hydra.new
          ended = Hash.new(0)
          3.times do |number|
            request = Typhoeus::Request.new("#{real_server.url}/r/#{number}", timeout: 20)
            request.on_complete { ended[number] += 1; leave.call if ended.size == at + 1 && ended.values.sum == at + 1 }
            hydra.queue(request)
          end
          left(hydra)
          left(hydra) { flunk "#{name} at #{at}: the second run was left too" }
          assert_equal({ 0 => 1, 1 => 1, 2 => 1 }, ended.sort.to_h, "#{name} at #{at}")
          assert_equal [3, 0], real_server.ledger.values_at("requests", "duplicates")
        end
      end
    end
  end

  # Runs a hydra; calls the block if the run was left.
  def left(hydra)
    done = false
    catch(:leave) do
      hydra.run
      done = true
    rescue Interrupt, RuntimeError
      nil
    end
    yield if !done && block_given?
  end

  def test_timeouts_of_a_run_lose_no_request
    hydra = Typhoeus::Hydra.new(max_concurrency: 20)
    ended = Hash.new(0)
    200.times do |number|
      options = number % 3 == 0 ? { connecttimeout: 5 } : {}
      hydra.queue(request("/delay/#{number % 7}", **options) { ended[number] += 1 })
    end
    rounds = 0
    until ended.size == 200 || (rounds += 1) > 2000
      begin
        Timeout.timeout(0.003) { hydra.run }
      rescue Timeout::Error
        nil
      end
    end
    assert_equal [200, [1]], [ended.size, ended.values.uniq]
  end

  # An interrupt may strike between any two lines. The next run then comes to its end and calls no callback twice.
  def test_a_run_that_is_left_between_any_two_lines_can_be_continued
    with_real_server do |real_server|
      step = 0
      loop do
        called = Hash.new(0)
        hydra = Typhoeus::Hydra.new(max_concurrency: 2)
        3.times do |number|
          request = Typhoeus::Request.new("#{real_server.url}/r/#{number}",
            { timeout: 20, connecttimeout: (3 if number == 1) })
          request.on_complete { called[number] += 1 }
          request.on_body { nil } if number == 2
          hydra.queue(request)
        end
        break unless left_at?(hydra, step)

        hydra.run
        assert_empty hydra.queued_requests, "step #{step}"
        assert_equal [1], called.values.uniq, "step #{step}"
        step += 3
      end
      assert_operator step, :>, 100
      assert_operator real_server.ledger.fetch("peak_in_flight"), :<=, 2
    end
  end

  def test_a_request_that_its_callback_queues_again_ends_twice_wherever_run_is_left
    with_real_server do |real_server|
      step = 0
      loop do
        called = 0
        due = 1
        hydra = Typhoeus::Hydra.new
        request = Typhoeus::Request.new("#{real_server.url}/r/1", timeout: 20)
        request.on_complete { (called += 1) == 1 && hydra.queue(request) && (due = 2) }
        hydra.queue(request)
        break unless left_at?(hydra, step)

        hydra.run
        assert_equal due, called, "step #{step}"
        step += 1
      end
      assert_operator step, :>, 50
    end
  end

  def test_a_request_that_an_interrupt_keeps_from_being_started_is_started_by_the_next_run
    3.times do |step|
      hydra = Typhoeus::Hydra.new
      codes = []
      2.times { |number|
        hydra.queue(request("/r/1", connecttimeout: 5 + number) { |response|
                      codes << response.code
                    })
      }
      assert left_at?(hydra, step, "/typhoeus/plan.rb")
      hydra.run
      assert_equal [200, 200], codes
    end
  end

  # As above, with interrupts of Ruby's own, which wait where they are masked: at any line, call and return.
  def test_an_interrupt_loses_no_request_and_has_none_sent_twice
    with_real_server do |real_server|
      requests = 0
      raised = ->(thread) { thread.raise(IOError, "leave") }
      # By another thread, for one that kills itself ends at once, whatever is masked.
      killed = ->(thread) { Thread.new { thread.kill }.join }
      [raised, killed].each do |interrupt|
        step = 0
        loop do
          called = []
          hydra = Typhoeus::Hydra.new(max_concurrency: 2)
          3.times do |number|
            request = Typhoeus::Request.new("#{real_server.url}/r/#{requests += 1}",
              { timeout: 20, connecttimeout: (3 if number == 1) })
            request.on_complete { called << [number, :first] }
            request.on_complete { called << [number, :second] }
            request.on_success { called << [number, :third] }
            hydra.queue(request)
          end
          cut = cut_at?(hydra, step, interrupt)
          hydra.run
          expected = [0, 1, 2].product(%i[first second third])
          assert_equal expected, called.sort, "step #{step}"
          break unless cut

          step += 1
        end
        assert_operator step, :>, 300
      end
      assert_equal [requests, 0], real_server.ledger.values_at("requests", "duplicates")
    end
  end

  # Runs a hydra in a thread, which is interrupted at the event of this number in Hecaton's code. Whether it came to
  # that. Operators of core classes are left out: they are instructions, in which Ruby takes no interrupt, and only a
  # TracePoint sees their end.
  def cut_at?(hydra, step, interrupt)
    events = 0
    thread = Thread.new do
      Thread.current.report_on_exception = false
      trace = TracePoint.new(:line, :call, :return, :b_return, :c_return) do |point|
        next if point.event == :c_return && !point.method_id.match?(/\A\w/)

        interrupt.call(Thread.current) if point.path.include?("/lib/hecaton/") && (events += 1) == step + 1
      end
      trace.enable(target_thread: Thread.current) { hydra.run }
    end
    thread.join(20) || flunk("step #{step} hangs")
    events > step
  rescue IOError
    true
  end

  # Near the end of the stack, nothing can be started, but nothing is lost.
  def test_a_stack_overflow_loses_no_request
    deepest = Thread.new { depth }.value
    outcomes = ((deepest - 120)..deepest).step(3).map do |at|
      called = []
      hydra = Typhoeus::Hydra.new
      2.times { |number| hydra.queue(request("/r/#{number}") { called << number }) }
      overflow = Thread.new do
        down(at) { hydra.run }
        nil
      rescue SystemStackError => error
        error.class
      end.value
      hydra.run
      assert_equal [0, 1], called.sort, "depth #{at}"
      overflow
    end
    assert_equal [SystemStackError, nil], outcomes.uniq.sort_by(&:to_s).reverse
  end

  def down(levels, &block) = levels.zero? ? block.call : down(levels - 1, &block)

  # How far down this thread can go.
  def depth
    (1..20).reverse_each.reduce(0) do |reached, bit|
      down(reached + (1 << bit)) { reached + (1 << bit) }
    rescue SystemStackError
      reached
    end
  end

  # The list of callbacks is complete when the first is called, as in the original.
  def test_callbacks_that_callbacks_add_are_not_called
    called = []
    single = request("/r/1")
    single.on_complete do
      called << :first
      single.on_complete { called << :added }
      single.on_success { called << :added }
    end
    single.on_success { called << :second }
    single.run
    assert_equal %i[first second], called
  end

  # Runs a hydra, and raises before its line of this number in files of such a path; whether there was one.
  def left_at?(hydra, step, path = "/lib/hecaton/")
    lines = 0
    trace = TracePoint.new(:line) do |point|
      raise IOError, "leave" if point.path.include?(path) && (lines += 1) == step + 1
    end
    trace.enable(target_thread: Thread.current) { hydra.run }
    false
  rescue IOError
    true
  end

  def test_a_run_that_was_left_continues_in_another_thread
    hydra = Typhoeus::Hydra.new
    codes = []
    2.times {
      hydra.queue(request("/delay/20") { |response|
                    codes << response.code; raise "leave" if codes.size == 1
                  })
    }
    Thread.new { assert_raises(RuntimeError) { hydra.run } }.join
    hydra.run
    assert_equal [200, 200], codes
  end

  # The run that came first goes on, whether it waits for the network or is in a callback.
  def test_a_second_run_at_once_is_refused
    with_real_server do |real_server|
      hydra = Typhoeus::Hydra.new(max_concurrency: 2)
      called = []
      refused = []
      6.times do |number|
        request = Typhoeus::Request.new("#{real_server.url}/r/#{number}", timeout: 20)
        request.on_complete do
          called << number
          hydra.run if number == 1 # In its own fiber it may.
          [Thread, Fiber].each { |kind| refused << elsewhere(kind) { hydra.run } } if number.even?
        end
        hydra.queue(request)
      end
      hydra.run
      assert_equal (0..5).to_a, called.sort
      assert_equal [ThreadError], refused.map(&:class).uniq
      assert_match(/another thread or fiber/, refused.first.message)
      assert_equal [6, 0], real_server.ledger.values_at("requests", "duplicates")
    end
  end

  # The ThreadError that leaves the block in a new thread or fiber.
  def elsewhere(kind, &block)
    run = kind.new { assert_raises(ThreadError, &block) }
    run.respond_to?(:value) ? run.value : run.resume
  end

  def test_an_upload_whose_reading_was_left_fails_and_holds_up_nothing
    hydra = Typhoeus::Hydra.new
    codes = []
    body = Enumerator.new { |pieces| pieces << "some"; raise "leave" }
    upload = request("/echo", method: :post, body: body) { |response| codes << response.success? }
    hydra.queue(upload)
    2.times { hydra.queue(request("/delay/20") { |response| codes << response.success? }) }
    assert_raises(RuntimeError) { hydra.run }
    hydra.run
    assert_equal [false, true, true], codes.sort_by(&:to_s)
  end

  def test_callbacks_that_run_the_hydra_while_parts_come_in
    hydra = Typhoeus::Hydra.new(max_concurrency: 3)
    ended = []
    4.times do |number|
      pieces = request("/bytes/300000", connecttimeout: 3 + number) { |response|
        ended << response.code; hydra.run if number.zero?
      }
      pieces.on_headers { hydra.run if number == 1 }
      pieces.on_body { nil }
      hydra.queue(pieces)
    end
    hydra.run
    assert_equal [200] * 4, ended
  end

  def test_failures_are_responses
    hydra = Typhoeus::Hydra.new
    codes = []
    ["http://127.0.0.1:1/", "http://", "ftp://x/", url("/fault/truncate")].each do |address|
      request = Typhoeus::Request.new(address, timeout: 5)
      request.on_complete { |response| codes << response.return_code }
      hydra.queue(request)
    end
    hydra.run
    assert_equal %i[couldnt_connect partial_file unsupported_protocol url_malformat], codes.sort
  end

  def test_options_of_a_hydra
    assert_equal 5,
      Typhoeus::Hydra.new(max_concurrency: "5", pipelining: 2, maxconnects: 9, execution_mode: :perform).max_concurrency
    refused { Typhoeus::Hydra.new(nonsense: 1) }
    refused(Ethon::Errors::InvalidValue, /socket_action/) { Typhoeus::Hydra.new(execution_mode: :socket_action) }
    assert_raises(ArgumentError) { Typhoeus::Hydra.new(max_concurrency: "many") }
  end
end
