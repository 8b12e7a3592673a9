# With a Fiber.scheduler, requests in fibers of one thread overlap; async's is the one that people use.
require "test_helper"
require "scripted"
begin
  require "async"
rescue LoadError
  nil # Its parts in C are not packaged for each Ruby.
end

class FiberTest < ServerTest
  def setup
    skip "async is not installed" unless defined?(Async)
    super
  end

  def test_requests_in_fibers_of_one_thread_overlap
    client = client()
    own = TestServer.new
    statuses = in_fibers(10) { client.get("#{own.url}/delay/2000").status }
    assert_equal [200] * 10, statuses
    assert_equal 10, own.ledger["peak_in_flight"]
  ensure
    own&.stop
  end

  def test_a_batch_in_a_fiber_lets_the_others_run
    client = client()
    order = []
    held = lambda do |_|
      wait_until { order.any? }
      Scripted.response(200)
    end
    Scripted.run("/" => held) do |server|
      Async do |task|
        task.async { client.batch { |batch| 3.times { batch.get("#{server.url}/").on_complete { order << :batch } } } }
        task.async { client.get(url("/delay/20")); order << :get }
      end
    end
    assert_equal [:get, :batch, :batch, :batch], order
  end

  def test_errors_reach_their_fiber
    client = client(timeout: 0.1)
    phases = in_fibers(3) { assert_raises(Hecaton::TimeoutError) { client.get(url("/fault/stall-head")) }.phase }
    assert_equal [:total] * 3, phases
  end

  def test_a_timeout_of_the_scheduler_gives_the_request_up
    client = client(timeout: 30)
    client.get(url("/r/1"))
    before = descriptors
    Async do |task|
      assert_raises(Async::TimeoutError) { task.with_timeout(0.1) { client.get(url("/fault/stall-head")) } }
      assert_equal 200, client.get(url("/r/1")).status
    end
    client.close
    wait_until { descriptors <= before }
    assert_operator descriptors, :<=, before
  end

  def test_a_timeout_of_the_scheduler_ends_a_batch_in_a_defined_state
    client = client(timeout: 60)
    sent = with_growing(0.2) do |limit|
      requests = []
      Async do |task|
        assert_raises(Async::TimeoutError) do
          task.with_timeout(limit) do
            client.batch(concurrency: 2) { |batch| requests = Array.new(5) { batch.get(url("/fault/stall-head")) } }
          end
        end
      end
      sent = requests.map { |request| request.outcome.sent? }
      sent if sent.first(2).all?
    end
    assert_equal [true, true, false, false, false], sent
  end

  def test_ten_thousand_fibers_in_flight_need_two_threads_more_at_most
    client = client(timeout: 300, per_origin: 20)
    before = threads
    Async do |task|
      fibers = Array.new(10_000) { task.async { client.get(url("/fault/stall-head")) } }
      all = [10_000, 20, 9_980]
      let_drive(task) { client.stats.values_at(:requests, :in_use, :waiting) == all }
      assert_equal all, client.stats.values_at(:requests, :in_use, :waiting)
      assert_operator threads, :<=, before + 2
      fibers.each(&:stop)
      assert_equal [0, 0], client.stats.values_at(:in_use, :waiting)
    end
    wait_until { hecaton_threads.empty? }
    assert_empty hecaton_threads
  end

  def test_thousands_of_fibers_get_the_response_that_is_theirs
    client = client(timeout: 300, per_origin: 50)
    before = threads
    most = before
    sizes = in_fibers(3_000) do |number|
      size = client.get(url("/bytes/#{number}")).body.bytesize
      most = [most, threads].max if (number % 50).zero?
      size
    end
    assert_equal Array.new(3_000) { |number| number }, sizes
    assert_operator most, :<=, before + 2
    wait_until { hecaton_threads.empty? }
    assert_empty hecaton_threads
  end

  def test_a_stop_of_the_scheduler_gives_the_request_up
    client = client(timeout: 300)
    is_stopped = false
    held = lambda do |_|
      wait_until { is_stopped }
      Scripted.response(200)
    end
    Scripted.run("/" => held) do |server|
      Async do |task|
        stalled = task.async { client.get(url("/fault/stall-head")) }
        other = task.async { client.get("#{server.url}/").status }
        let_drive(task) { client.stats[:in_use] == 2 }
        stalled.stop
        assert_equal 1, client.stats[:in_use]
        is_stopped = true
        assert_equal 200, other.wait
      end
    end
  end

  def test_streams_in_fibers_overlap_and_a_timeout_between_loses_nothing
    client = client(timeout: 30)
    sizes = in_fibers(5) do
      client.get(url("/pieces/5/100/20")) { |response| response.each_chunk.sum(&:bytesize) }
    end
    assert_equal [500] * 5, sizes
    Async do |task|
      body = +""
      client.get(url("/pieces/2/3/300")) do |response|
        begin
          task.with_timeout(0.05) { response.each_chunk { |chunk| body << chunk } }
        rescue Async::TimeoutError
          response.each_chunk { |chunk| body << chunk }
        end
      end
      assert_equal 6, body.bytesize
    end
  end

  def test_a_body_is_read_by_the_fiber_that_sends_it
    client = client(timeout: 30)
    homes = []
    sizes = in_fibers(3) do
      fiber = Fiber.current
      body = Object.new
      reads = 0
      body.define_singleton_method(:read) do |_size = nil|
        homes << [Thread.current, Fiber.current.equal?(fiber)]
        (reads += 1) > 3 ? nil : "abc"
      end
      client.post(url("/upload"), body: body).status
    end
    assert_equal [200] * 3, sizes
    assert_equal [[Thread.current, true]], homes.uniq
  end

  def test_an_enumerator_can_be_a_body_in_a_fiber
    client = client(timeout: 30)
    body = -> { Enumerator.new { |to| 5.times { to << "piece" } } }
    statuses = in_fibers(3) { client.post(url("/upload"), body: body.call).status }
    assert_equal [200] * 3, statuses
  end

  def test_callbacks_run_on_the_fiber_that_waits
    client = client(timeout: 30)
    in_fibers(3) do
      home = [Thread.current, Fiber.current]
      seen = []
      client.batch do |batch|
        batch.get(url("/delay/20")).on_complete { seen << [Thread.current, Fiber.current] }
        batch.get(url("/pieces/3/10/10")).on_body { seen << [Thread.current, Fiber.current] }
      end
      assert_equal [home], seen.uniq
    end
  end

  def test_whoever_kills_the_driving_thread_leaves_the_rest_to_another
    client = client(timeout: 30)
    Async do |task|
      fibers = Array.new(5) { task.async { client.get(url("/delay/300")).status } }
      let_drive(task) { client.stats[:in_use] == 5 }
      hecaton_threads.each(&:kill)
      assert_equal [200] * 5, fibers.map(&:wait)
    end
  end

  def test_two_threads_with_schedulers_share_a_client
    client = client(timeout: 30)
    running = Array.new(2) { Thread.new { in_fibers(50) { client.get(url("/delay/50")).status } } }
    assert_equal [200] * 100, running.flat_map(&:value)
    wait_until { hecaton_threads.empty? }
    assert_empty hecaton_threads
  end

  def test_a_child_of_fork_drives_for_itself
    client = client(timeout: 30)
    Async do |task|
      going = task.async { client.get(url("/delay/500")).status }
      let_drive(task) { client.stats[:in_use] == 1 }
      child = Thread.new do
        fork do
          statuses = in_fibers(3) { client.get(url("/delay/20")).status }
          exit!(statuses == [200] * 3)
        end
      end.value
      assert_equal 200, going.wait
      assert_predicate Process.wait2(child).last, :success?
    end
  end

  def test_ctrl_c_ends_what_fibers_wait_for
    script = <<~RUBY
      require "hecaton"
      require "async"
      trap(:INT, "DEFAULT") # it may be ignored where the tests run
      client = Hecaton::Client.new(timeout: 300)
      begin
        Async do |task|
          2.times { task.async { client.get(ARGV.first) } }
          $stdout.puts "waiting"
          $stdout.flush
        end
      rescue Interrupt
        puts "interrupted \#{client.stats[:in_use]}"
      end
    RUBY
    lib = File.expand_path("../lib", __dir__)
    IO.popen([RbConfig.ruby, "-I#{lib}", "-e", script, url("/fault/stall-head")], err: File::NULL) do |output|
      assert_equal "waiting\n", output.gets
      sleep 0.2
      Process.kill(:INT, output.pid)
      assert_equal "interrupted 0\n", output.gets
    end
  end

  def test_who_waits_spins_not
    client = client(timeout: 30)
    Async do |task|
      waiting = Array.new(10) { task.async { client.get(url("/delay/1500")) } }
      let_drive(task) { client.stats[:in_use] == 10 }
      before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      waiting.each(&:wait)
      assert_operator Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before, :<, 0.7 # Who spins uses 1.5 s.
    end
  end

  def test_without_a_scheduler_a_request_needs_no_thread
    threads = Thread.list # those of tests before may end meanwhile
    client.get(url("/r/1"))
    assert_empty Thread.list - threads
  end

  private

  def in_fibers(count)
    Async { |task| Array.new(count) { |number| task.async { yield number } }.map(&:wait) }.wait
  end

  # Threads of the whole process, including those that Ruby does not know.
  def threads = Dir.children("/proc/self/task").size

  def hecaton_threads = Thread.list.select { |thread| thread.name == "hecaton" }

  # Lets the other fibers and the driving thread run until it is so.
  def let_drive(task)
    6000.times { yield ? break : task.sleep(0.01) }
  end
end
