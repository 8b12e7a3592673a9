# fork, Thread#kill and Timeout in the drop-in.
require_relative "drop_in"
require "scripted"
require "timeout"

class TyphoeusProcessTest < DropInTest
  def in_child
    reader, writer = IO.pipe
    child = fork do
      writer.write(Marshal.dump(yield))
      writer.close
      exit!(0)
    end
    writer.close
    Marshal.load(reader.read)
  ensure
    Process.wait(child) if child
  end

  def test_a_fork_after_use
    assert_equal 200, request("/r/1").run.code
    hydra = Typhoeus::Hydra.hydra
    hydra.queue(request("/r/2"))
    hydra.run
    codes = in_child do
      codes = [request("/r/3").run.code, request("/r/4", connecttimeout: 2).run.code]
      Typhoeus::Hydra.hydra.queue(request("/r/5") { |response| codes << response.code })
      Typhoeus::Hydra.hydra.run
      codes
    end
    assert_equal [200] * 3, codes
    assert_equal 200, request("/r/6").run.code
  end

  def test_a_fork_while_requests_are_under_way
    with_real_server("--delay", "300ms") do |real_server|
      hydra = Typhoeus::Hydra.new
      codes = []
      [{}, { connecttimeout: 5 }].each do |options|
        request = Typhoeus::Request.new("#{real_server.url}/r/1", timeout: 20, **options)
        request.on_complete { |response| codes << response.code }
        hydra.add(request)
      end
      ended = in_child do
        request = Typhoeus::Request.new("#{real_server.url}/r/2", timeout: 20)
        request.on_complete { |response| codes << response.code }
        hydra.queue(request)
        hydra.run # What is under way in the parent fails here.
        codes
      end
      assert_equal [0, 0, 200], ended
      hydra.run
      assert_equal [200, 200], codes
      assert_equal 3, real_server.ledger.fetch("requests")
    end
  end

  def test_a_fork_while_another_thread_runs_the_hydra
    has_forked = false
    held = lambda do |_|
      wait_until { has_forked }
      Scripted.response(200)
    end
    Scripted.run("/" => held) do |server|
      hydra = Typhoeus::Hydra.new
      codes = []
      3.times do
        request = Typhoeus::Request.new("#{server.url}/", timeout: 60)
        request.on_complete { |response| codes << response.return_code }
        hydra.queue(request)
      end
      runner = Thread.new { hydra.run }
      wait_until { runner.status == "sleep" && Hecaton::Typhoeus::Clients.default.stats.fetch(:in_use) == 3 }
      ended = in_child do
        2.times { hydra.run }
        codes
      end
      has_forked = true
      runner.join
      assert_equal [[:aborted_by_callback] * 3, [:ok] * 3], [ended, codes]
    end
  end

  def test_a_fork_in_a_callback
    with_real_server("--delay", "100ms") do |real_server|
      hydra = Typhoeus::Hydra.new(max_concurrency: 4)
      codes = Hash.new(0)
      parent = Process.pid
      reader, writer = IO.pipe
      12.times do |number|
        request = Typhoeus::Request.new("#{real_server.url}/r/#{number}", timeout: 20)
        request.on_complete do |response|
          codes[response.return_code] += 1
          fork if number == 5 && Process.pid == parent
        end
        hydra.queue(request)
      end
      begin
        hydra.run
      ensure
        writer.write(Marshal.dump([codes.to_a, $!&.class])) && exit!(true) unless Process.pid == parent
      end
      writer.close
      Process.wait
      in_child, left = Marshal.load(reader.read)
      assert_equal [{ ok: 12 }, nil, 12], [codes, left, in_child.sum(&:last)]
      assert_operator in_child.to_h.fetch(:aborted_by_callback), :<=, 4
    end
  end

  def test_a_callback_in_the_child_raises
    with_real_server("--delay", "300ms") do |real_server|
      hydra = Typhoeus::Hydra.new
      ended = []
      3.times do |index|
        request = Typhoeus::Request.new("#{real_server.url}/r/#{index}", timeout: 20)
        request.on_complete { ended << index; raise "once" if index == 1 }
        hydra.add(request)
      end
      assert_equal [RuntimeError, [0, 1, 2]], (in_child { [(hydra.run rescue $!.class), hydra.run && ended.sort] })
    end
  end

  def test_a_thread_that_is_killed
    in_use = -> { Hecaton::Typhoeus::Clients.default.stats.fetch(:in_use) }
    threads = [false, true].map do |in_pieces|
      Thread.new do
        hydra = Typhoeus::Hydra.new
        request = request("/delay/60000", timeout: 60)
        request.on_body {} if in_pieces
        hydra.queue(request)
        hydra.run
      end
    end
    wait_until { in_use.call == 2 }
    assert_equal 2, in_use.call
    threads.each(&:kill).each { |thread| assert thread.join(10) }
    threads.clear
    wait_until { GC.start || in_use.call.zero? } # The hydras are garbage, and their connections with them.
    assert_equal 0, in_use.call
    assert_equal 200, request("/r/1").run.code
  end

  def test_a_further_run_continues_after_a_kill
    with_real_server("--delay", "300ms") do |real_server|
      hydra = Typhoeus::Hydra.new(max_concurrency: 4)
      ended = []
      8.times do |index|
        request = Typhoeus::Request.new("#{real_server.url}/r/#{index}", timeout: 20)
        request.on_complete { |response| ended << [index, response.code] }
        hydra.queue(request)
      end
      in_use = -> { Hecaton::Typhoeus::Clients.default.stats.fetch(:in_use) }
      thread = Thread.new { hydra.run }
      wait_until { in_use.call >= 4 }
      assert thread.kill.join(10)
      hydra.run
      assert_equal Array.new(8) { |index| [index, 200] }, ended.sort
      assert_equal [8, 0], real_server.ledger.values_at("requests", "duplicates")
    end
  end

  def test_a_callback_kills_its_thread
    hydra = Typhoeus::Hydra.new(max_concurrency: 2)
    ended = []
    5.times do |index|
      hydra.queue(request("/r/#{index}") { ended << index; Thread.current.kill if ended.size == 2 })
    end
    assert Thread.new { hydra.run }.join(10)
    assert_equal 2, ended.size
    hydra.run
    assert_equal [0, 1, 2, 3, 4], ended.sort
  end

  def test_timeout_leaves_at_once_and_a_further_run_resumes
    with_real_server("--delay", "3s") do |real_server|
      hydra = Typhoeus::Hydra.new
      codes = []
      [{}, {}, { connecttimeout: 5 }].each_with_index do |options, index|
        request = Typhoeus::Request.new("#{real_server.url}/r/#{index}", timeout: 20, **options)
        request.on_complete { |response| codes << response.code }
        hydra.queue(request)
      end
      assert_raises(Timeout::Error) { Timeout.timeout(0.1) { hydra.run } }
      assert_empty codes
      hydra.run
      assert_equal [[200] * 3, 3, 0], [codes, *real_server.ledger.values_at("requests", "duplicates")]
      assert_raises(Timeout::Error) { Timeout.timeout(0.1) { Typhoeus.get("#{real_server.url}/r/7", timeout: 20) } }
    end
  end

  def test_threads_share_connections_and_nothing_else
    codes = Array.new(8) do |number|
      Thread.new do
        hydra = Typhoeus::Hydra.hydra
        found = []
        20.times do |at|
          path = "/r/#{number * 100 + at}"
          hydra.queue(request(path, connecttimeout: 1 + at % 3) { |response| found << response.code })
        end
        hydra.run
        found
      end
    end
    assert_equal [[200] * 20] * 8, codes.map(&:value)
  end
end
