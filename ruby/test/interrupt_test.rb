# Thread#kill, Timeout.timeout, signals: they stop what runs at once, and nothing leaks.
require "test_helper"
require "scripted"
require "timeout"

class InterruptTest < ServerTest
  def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def stalled_batch(client, size = 5)
    client.batch { |batch| size.times { batch.get(url("/fault/stall-head")) } }
  end

  def test_timeout_stops_a_request_and_a_batch
    client = client(timeout: 60)
    started = clock
    assert_raises(Timeout::Error) { Timeout.timeout(0.2) { client.get(url("/fault/stall-head")) } }
    assert_raises(Timeout::Error) { Timeout.timeout(0.2) { stalled_batch(client) } }
    assert_operator clock - started, :<, 30
    assert_equal 200, client.get(url("/r/1")).status
  end

  def test_kill_runs_ensure_and_leaks_no_descriptor
    client = client(timeout: 30)
    client.get(url("/r/1"))
    before = descriptors
    ensured = 0
    begun = Thread::Queue.new
    20.times do
      thread = Thread.new do
        begun << true # A thread that is killed before it runs has no ensure.
        stalled_batch(client, 10)
      ensure
        ensured += 1
      end
      begun.pop
      sleep 0.005
      thread.kill.join
    end
    assert_equal 20, ensured
    assert_operator descriptors, :<=, before
  end

  def test_random_raises_leak_nothing
    client = client(timeout: 30)
    client.get(url("/r/1"))
    before = descriptors
    random = Random.new(4)
    100.times do
      Timeout.timeout(random.rand * 0.01) do
        loop { client.batch(concurrency: 3) { |batch| 9.times { batch.get(url("/delay/1")) } } }
      end
    rescue Timeout::Error
      client.close
    end
    client.get(url("/r/1"))
    assert_operator descriptors, :<=, before
  end

  def test_a_trapped_signal_lets_the_request_continue
    trapped = 0
    previous = trap(:USR1) { trapped += 1 }
    # It responds when the signal was trapped.
    play = lambda do |connection|
      Listening.request(connection)
      5.times { sleep 0.02; Process.kill(:USR1, Process.pid) }
      wait_until { trapped.positive? }
      connection.write(Scripted.response(200))
    end
    Peer.run(play) do |peer|
      response = client.get(peer.url)
      assert_equal 200, response.status
      assert_operator trapped, :>, 0
      assert_equal [1, 1], [response.attempts.size, peer.connections]
    end
  ensure
    trap(:USR1, previous || "DEFAULT")
  end

  def test_interrupt_ends_the_process_at_once = assert_interrupted("")

  # When all threads of a process wait outside of Ruby, some Rubies have none that looks for signals.
  def test_interrupt_ends_the_process_at_once_while_another_thread_waits_too
    assert_interrupted("Thread.new { client.get(#{url("/fault/stall-head").inspect}) }; sleep 0.2")
  end

  # As in a console, where Ctrl-C ends what runs and the process continues.
  def test_ctrl_c_at_any_moment_leaks_nothing
    script = <<~RUBY
      require "hecaton"
      trap(:INT, "DEFAULT")
      client = Hecaton::Client.new(timeout: 60, per_origin: 4)
      counted = -> { client.close; GC.start; Dir.children("/proc/self/fd").size }
      client.get(#{url("/r/1").inspect})
      before = counted.call
      random = Random.new(3)
      interrupted = 0
      300.times do
        killer = Thread.new { sleep random.rand * 0.01; Process.kill(:INT, Process.pid) }
        begin
          loop do
            case random.rand(3)
            when 0 then client.get(#{url("/delay/2").inspect})
            when 1 then client.batch(concurrency: 3) { |batch| 6.times { batch.get(#{url("/delay/1").inspect}) } }
            else client.get(#{url("/bytes/300000").inspect}) { |response| response.each_chunk {} }
            end
          end
        rescue Interrupt
          interrupted += 1
        end
        killer.join
      end
      statuses = Array.new(8) { Thread.new { client.get(#{url("/r/1").inspect}).status } }.map(&:value)
      print [interrupted, statuses.uniq, client.stats.values_at(:in_use, :waiting), counted.call <= before].inspect
    RUBY
    library = File.expand_path("../lib", __dir__)
    output = IO.popen([RbConfig.ruby, "-I#{library}", "-e", script, err: %i[child out]], &:read)
    assert_equal "[300, [200], [0, 0], true]", output
  end

  private

  def assert_interrupted(before)
    script = <<~RUBY
      require "hecaton"
      trap(:INT, "DEFAULT") # it may be ignored where the tests run
      client = Hecaton::Client.new(timeout: 60)
      #{before}
      puts "ready"
      $stdout.flush
      client.batch { |batch| 50.times { batch.get(#{url("/fault/stall-head").inspect}) } }
    RUBY
    started = clock
    output = IO.popen([RbConfig.ruby, "-I#{File.expand_path("../lib", __dir__)}", "-e", script], err: File::NULL)
    assert_equal "ready\n", output.gets
    sleep 0.2
    Process.kill(:INT, output.pid)
    Process.wait(output.pid)
    assert_equal Signal.list["INT"], $?.termsig
    assert_operator clock - started, :<, 30
  ensure
    output&.close
  end
end
