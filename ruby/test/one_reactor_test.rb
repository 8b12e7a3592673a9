# All clients of a process share one reactor: threads, descriptors and wake-ups do not grow with clients.
require "test_helper"
begin
  require "async"
rescue LoadError
  nil # Its parts in C are not packaged for each Ruby.
end
require "open3"
require "tmpdir"

class OneReactorTest < ServerTest
  LIB = File.expand_path("../lib", __dir__)
  # The helpers of the programs in these tests.
  GIVEN = <<~RUBY.freeze
    require "hecaton"
    def descriptors = Dir.children("/proc/self/fd").map { |number| File.readlink("/proc/self/fd/\#{number}") rescue nil }.compact
    def sockets = descriptors.grep(/socket:/).size
    def ours = descriptors.grep(/eventpoll|eventfd/).size
    def keepers = Dir["/proc/self/task/*/comm"].count { |name| File.read(name).start_with?("hecaton-keeper") }
    def threads = Dir.children("/proc/self/task").size
    # How often other threads than this one were switched to.
    def switches
      (Dir.children("/proc/self/task") - [Process.pid.to_s]).sum do |id|
        File.read("/proc/self/task/\#{id}/status")[/^voluntary_ctxt_switches:\\s+(\\d+)/, 1].to_i
      end
    end
    # Whether they come to rest: for half a second none wakes.
    def calm?
      20.times.any? do
        before = switches
        sleep 0.5
        before == switches
      end
    end
    # Ruby 3.3 gives each child a thread of its own, which waits for timers.
    def threads_of_a_child = IO.popen("-") { |child| child ? Integer(child.read) : print(threads) }
    def wait_until = 6000.times { yield ? (return true) : sleep(0.01) }
    sockets_before, ours_before, threads_before, alone = sockets, ours, threads, threads_of_a_child
  RUBY

  def run_program(program)
    said, complaints, status = Open3.capture3(RbConfig.ruby, "-I#{LIB}", "-", stdin_data: GIVEN + program)
    assert_predicate status, :success?, complaints
    said.lines.map(&:chomp)
  end

  def with_origins
    Dir.mktmpdir do |folder|
      ca = "#{folder}/ca.pem"
      tls = ["--tls", "--tls-ca-out", ca]
      { "HTTP/1.1" => [], "TLS" => tls, "HTTP/2" => ["--http2", *tls] }.each do |name, options|
        own = TestServer.new(*options)
        yield name, own.url, options.empty? ? "" : ", ca: #{ca.inspect}"
      ensure
        own&.stop
      end
    end
  end

  def test_idle_clients_have_one_thread_and_wake_for_nothing
    with_origins do |name, url, trust|
      said = run_program(<<~RUBY)
        clients = Array.new(30) { Hecaton::Client.new(timeout: 20#{trust}) }
        clients.each { |client| client.get("#{url}/r/1").status == 200 or abort }
        puts sockets - sockets_before, ours - ours_before, wait_until { keepers == 1 }
        # Threads that read the certificates may still be there, and end by themselves.
        puts wait_until { threads - threads_before <= 2 }, calm?
        clients.each { |client| client.get("#{url}/r/1").attempts.last.reused? or abort("a new connection") }
        puts clients.sum { |client| client.stats[:opened] }, calm?
        clients.each(&:close)
        puts sockets - sockets_before, wait_until { ours == ours_before && threads == threads_before }
      RUBY
      assert_equal ["30", "3", "true", "true", "true", "30", "true", "0", "true"], said, name
    end
  end

  def test_an_end_that_comes_while_nothing_is_due_is_noticed
    said = run_program(<<~RUBY)
      require "socket"
      server = TCPServer.new("127.0.0.1", 0)
      peers = Queue.new
      Thread.new do
        loop do
          peer = server.accept
          peer.gets("\\r\\n\\r\\n")
          peer.write("HTTP/1.1 200 OK\\r\\ncontent-length: 0\\r\\n\\r\\n")
          peers << peer
        end
      end
      clients = Array.new(3) { Hecaton::Client.new(timeout: 20) }
      clients.each { |client| client.get("http://127.0.0.1:\#{server.addr[1]}/") }
      sleep 1 # Until nothing is due.
      puts clients.map(&:idle_connections).inspect
      peers.pop.close
      puts wait_until { clients.map(&:idle_connections) == [0, 1, 1] }
    RUBY
    assert_equal ["[1, 1, 1]", "true"], said
  end

  def test_connections_that_were_idle_for_too_long_are_closed_by_the_thread_that_slept
    said = run_program(<<~RUBY)
      # On a busy machine the first may be closed before anybody looks, but not each time.
      seen = [0.6, 6, 60].any? do |seconds|
        clients = [seconds, 600].map { |each| Hecaton::Client.new(timeout: 20, idle_timeout: each) }
        clients.each { |client| client.get("#{url("/r/1")}") }
        before = clients.map(&:idle_connections)
        wait_until { clients.map(&:idle_connections) == [0, 1] } or abort("it stays open")
        before == [1, 1]
      end
      puts seen
    RUBY
    assert_equal ["true"], said
  end

  def test_a_long_wait_wakes_no_other_thread
    said = run_program(<<~RUBY)
      idle, waits = Array.new(2) { Hecaton::Client.new(timeout: 60) }
      idle.get("#{url("/r/1")}")
      waiting = Thread.new { waits.get("#{url("/delay/30000")}") }
      waits_only = ->(count) { File.read("/proc/self/task/\#{count}/comm").start_with?("hecaton-keeper") }
      keeper = nil
      wait_until { waits.stats[:in_use] == 1 && (keeper = Dir.children("/proc/self/task").find(&waits_only)) }
      switched = -> { File.read("/proc/self/task/\#{keeper}/status")[/^voluntary_ctxt_switches:\\s+(\\d+)/, 1] }
      puts 20.times.any? { before = switched.(); sleep 0.5; before == switched.() }
      waiting.kill.join
      puts idle.get("#{url("/r/1")}").attempts.last.reused?
    RUBY
    assert_equal %w[true true], said
  end

  def test_the_end_of_a_client_leaves_the_others_alone
    closed = client
    others = Array.new(3) { client }
    others.each { |other| other.get(url("/r/1")) }
    waiting = others.map { |other| Thread.new { other.get(url("/delay/300")).status } }
    closed.get(url("/r/1"))
    closed.close
    20.times { client.get(url("/r/1")) }
    GC.start
    assert_equal [200] * 3, waiting.map(&:value)
    assert_equal([true] * 3, others.map { |other| other.get(url("/r/1")).attempts.last.reused? })
    assert_equal 200, closed.get(url("/r/1")).status, "closed, and used again"
  end

  def test_a_child_has_a_reactor_of_its_own_for_all_its_clients
    said = run_program(<<~RUBY)
      clients = Array.new(5) { Hecaton::Client.new(timeout: 20) }
      clients.each { |client| client.get("#{url("/r/1")}") }
      sleep 0.3
      reader, writer = IO.pipe
      child = fork do
        reported = [sockets - sockets_before, ours - ours_before, threads - alone]
        reported << clients.map { |client| client.get("#{url("/r/1")}").attempts.last.reused? }.uniq
        reported += [sockets - sockets_before, ours - ours_before, wait_until { threads == alone + 1 }]
        clients.each(&:close)
        reported += [sockets - sockets_before, ours - ours_before, wait_until { threads == alone }]
        writer.puts reported.inspect
      end
      Process.wait(child)
      writer.close # Else a child that failed would have this wait for its line for ever.
      puts reader.gets
      puts clients.all? { |client| client.get("#{url("/r/1")}").attempts.last.reused? }
    RUBY
    assert_equal ["[0, 0, 0, [false], 5, 3, true, 0, 0, true]", "true"], said
  end

  def test_a_daemon_of_several_clients_has_connections_of_its_own
    skip "this system has no daemons" unless Process.respond_to?(:daemon)
    said = run_program(<<~RUBY)
      clients = Array.new(5) { Hecaton::Client.new(timeout: 20) }
      clients.each { |client| client.get("#{url("/r/1")}") }
      waiting = Thread.new { clients.first.get("#{url("/delay/1000")}").status }
      sleep 0.2
      reader, writer = IO.pipe
      child = fork do
        clients.last.get("#{url("/r/1")}")
        Process.daemon(true, true)
        reported = [sockets - sockets_before, ours - ours_before, threads - alone]
        reported << clients.map { |client| client.get("#{url("/r/1")}").attempts.last.reused? }
        reported << clients.map { |client| Thread.new { client.get("#{url("/r/1")}").attempts.last.reused? } }.map(&:value)
        reported += [sockets - sockets_before, ours - ours_before, wait_until { threads == alone + 1 }]
        writer.puts reported.inspect
        exit!(0)
      end
      Process.wait(child)
      writer.close
      puts reader.gets
      puts waiting.value, clients.all? { |client| client.get("#{url("/r/1")}").attempts.last.reused? }
    RUBY
    new, again = [false] * 5, [true] * 5
    assert_equal ["[0, 0, 0, #{new}, #{again}, 5, 3, true]", "200", "true"], said
  end

  def test_fibers_of_several_clients_overlap_and_end_alone
    skip "async is not installed" unless defined?(Async)
    clients = Array.new(4) { client(timeout: 30) }
    hasty = client(timeout: 0.2)
    Async do |task|
      slow = clients.map { |each| task.async { each.get(url("/delay/500")).status } }
      late = task.async { error_of(Hecaton::TimeoutError) { hasty.get(url("/fault/stall-head")) }.phase }
      batch = task.async do
        seen = []
        clients.first.batch do |all|
          5.times { |size| all.get(url("/bytes/#{size}")).on_complete { |outcome| seen << outcome.body.bytesize } }
        end
        seen.sort
      end
      stopped = task.async { clients.last.get(url("/fault/stall-head")) }
      assert_equal [0, 1, 2, 3, 4], batch.wait
      assert_equal :total, late.wait
      stopped.stop
      clients[1].close
      assert_equal [200] * 4, slow.map(&:wait)
      assert_equal 200, clients[1].get(url("/r/1")).status, "closed, and used again"
      assert_equal 0, clients.last.stats[:in_use]
    end
  end

  # Threads with a client each: whoever drives, each gets its own outcomes.
  def test_threads_with_clients_of_their_own_all_get_on
    counts = Array.new(8) do |number|
      Thread.new do
        own = client
        seen = 0
        50.times do
          own.batch do |batch|
            4.times { |id| batch.get(url("/r/#{number * 10 + id}")).on_complete { |outcome| seen += 1 if outcome.ok? } }
          end
        end
        seen
      end
    end
    assert_equal [200] * 8, counts.map(&:value)
  end
end
