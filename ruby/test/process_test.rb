# Living in a process: fork before and after use, many threads, random kills, the garbage collector, the end.
require "test_helper"
require "tmpdir"

class ProcessTest < ServerTest
  # The output of a child, which must end well. Its own test run, which it inherits, is skipped.
  def in_child
    reader, writer = IO.pipe
    pid = fork do
      reader.close
      writer.write(Marshal.dump(yield))
      writer.close
    ensure
      exit!($!.nil? ? 0 : 1)
    end
    writer.close
    reply = reader.read
    Process.wait(pid)
    assert_predicate $?, :success?
    Marshal.load(reply)
  end

  def test_a_child_that_leaves_its_test_by_an_exception_runs_no_other_test
    child = fork
    raise "as a test that fails" if child.nil?

    Process.wait(child)
    assert_equal 1, $?.exitstatus
  end

  def test_a_client_made_but_not_used_before_the_fork_works_on_both_sides
    client = client()
    assert_equal 200, in_child { client.get(url("/r/1")).status }
    assert_equal 200, client.get(url("/r/1")).status
  end

  def test_a_used_client_works_on_both_sides_of_a_fork_and_shares_no_connection
    client = client()
    before = JSON.parse(client.get(url("/echo")).body)["connection"]
    child = in_child { Array.new(3) { JSON.parse(client.get(url("/echo")).body)["connection"] } }
    after = JSON.parse(client.get(url("/echo")).body)["connection"]
    assert_equal before, after
    assert_equal 1, child.uniq.size
    refute_equal before, child.first
  end

  # By its own end, by the garbage collector, by another program, by using the client: the parent's connection is as it
  # was.
  CHILDREN = <<~RUBY
    require "hecaton"
    require "json"
    address, http, ca = ARGV
    client = Hecaton::Client.new(timeout: 20, ca: ca, http: http)
    requested = -> { JSON.parse(client.get(address).body)["connection"] }
    seen = [requested.call]
    [-> { nil }, -> { client = nil; GC.start }, -> { exec("true") }, -> { requested.call; client.close }, -> { exit!(0) }].each do |life|
      Process.wait(fork(&life))
      seen << ($?.success? && requested.call)
    end
    print seen.uniq.size, " ", client.stats[:opened]
  RUBY

  { "plain" => [[], "1.1"], "tls" => [["--tls"], "1.1"],
    "http2" => [["--http2"], "2"], "http2_over_tls" => [["--http2", "--tls"], "2"] }
    .each do |name, (options, http)|
      define_method("test_a_child_leaves_the_parents_connection_alone_however_it_ends_#{name}") do
        Dir.mktmpdir do |folder|
          ca = File.join(folder, "ca.pem")
          own = TestServer.new(*options, *(["--tls-ca-out", ca] if options.include?("--tls")))
          command = [RbConfig.ruby, "-I#{File.expand_path("../lib", __dir__)}", "-e", CHILDREN, "#{own.url}/echo", http]
          command << ca if options.include?("--tls")
          assert_equal "1 1", IO.popen([*command, err: %i[child out]], &:read)
        ensure
          own&.stop
        end
      end
    end

  def test_a_fork_while_other_threads_wait_leaves_both_sides_working
    client = client()
    waiting = Array.new(4) { Thread.new { client.get(url("/delay/300")).status } }
    sleep 0.1
    assert_equal [200, 200], in_child { Array.new(2) { client.get(url("/r/1")).status } }
    assert_equal [200] * 4, waiting.map(&:value)
  end

  def test_a_fork_in_a_callback_leaves_the_parents_batch_running
    client = client()
    replies = []
    client.batch(concurrency: 4) do |batch|
      20.times do |index|
        batch.get(url("/r/#{index}")).on_complete do |outcome|
          replies << outcome.response.status
          replies << in_child { client.get(url("/r/1")).status } if index == 5
        end
      end
    end
    assert_equal [200] * 21, replies
  end

  def test_a_child_that_continues_an_inherited_batch_is_refused_and_the_parents_runs_on
    client = client()
    statuses = []
    reader, writer = IO.pipe
    parent = Process.pid
    requests = []
    begin
      client.batch(concurrency: 2) do |batch|
        requests << batch.get(url("/r/1")).on_complete { fork }
        4.times { |id|
          requests << batch.get(url("/delay/#{100 + id}")).on_complete { |outcome| statuses << outcome.response.status }
        }
      end
    rescue Hecaton::ForkError => error
      writer.write(Marshal.dump([error.message, requests.map { |request| request.outcome.class.name }]))
    ensure
      exit!(0) unless Process.pid == parent
    end
    writer.close
    message, outcomes = Marshal.load(reader.read)
    Process.wait
    assert_match(/in the process that forked/, message)
    assert_equal ["Hecaton::Response"] + ["Hecaton::CancelledError"] * 4, outcomes
    assert_equal [200] * 4, statuses
  end

  def test_ten_thousand_threads_born_and_dead_leave_descriptors_flat
    client = client(timeout: 20, per_origin: 8)
    client.get(url("/r/1"))
    before = descriptors
    statuses = Hash.new(0)
    500.times {
      Array.new(20) { Thread.new { client.get(url("/r/1")).status } }.each { |thread| statuses[thread.value] += 1 }
    }
    assert_equal({ 200 => 10_000 }, statuses)
    assert_operator descriptors, :<=, before + 7 # the other connections that the limit allows
    client.close
    assert_operator descriptors, :<, before
  end

  # A turn that was lost would stop all requests after the fourth.
  def test_a_thousand_random_kills_leak_no_descriptor_no_turn_and_no_memory
    client = client(timeout: 30, per_origin: 4)
    random = Random.new(11)
    descriptors_then = memory_then = nil
    1000.times do |round|
      threads = Array.new(3) { Thread.new { use(client, random) }.tap { |thread| thread.report_on_exception = false } }
      sleep random.rand * 0.004
      threads.each { |thread| random.rand < 0.5 ? thread.kill : thread.raise("enough") }
      threads.each { |thread| thread.join rescue nil }
      next unless round == 300

      client.close
      descriptors_then, memory_then = descriptors, memory
    end
    assert_equal [200] * 8, Array.new(8) { Thread.new { client.get(url("/r/1")).status } }.map(&:value)
    client.close
    assert_operator descriptors, :<=, descriptors_then
    assert_operator memory - memory_then, :<, 8 << 20
  end

  # Where one thread is interrupted at the first use of a class, another must not wait for it with the GVL in hand.
  def test_threads_may_make_the_first_of_everything_at_once
    script = <<~RUBY
      require "hecaton"
      TracePoint.new(:c_call) { |call| sleep 0.05 if call.method_id == :const_get }.enable
      use = lambda do
        client = Hecaton::Client.new(timeout: 20, cookies: true)
        client.post("#{url("/echo")}", body: ["a"].each) { |response| response.each_chunk {} }
        client.batch { |batch| batch.get("#{url("/r/1")}") }
      end
      Array.new(3) { Thread.new(&use) }.each(&:join)
      print "done"
    RUBY
    command = ["timeout", "-s", "KILL", "30", RbConfig.ruby, "-I#{File.expand_path("../lib", __dir__)}", "-e", script]
    assert_equal "done", IO.popen([*command, err: %i[child out]], &:read)
  end

  def test_random_kills_of_streams_and_uploads_leak_no_descriptor_and_no_turn
    client = client(timeout: 30, per_origin: 4)
    client.get(url("/r/1"))
    client.close
    before = descriptors
    random = Random.new(12)
    300.times do |round|
      threads = Array.new(3) do
        Thread.new do
          if round.odd?
            9.times { client.get(url("/bytes/300000")) { |response| response.each_chunk {} } }
          else
            9.times { client.post(url("/echo"), body: Enumerator.new { |pieces| 5.times { pieces << "x" * 1000 } }) }
          end
        end.tap { |thread| thread.report_on_exception = false }
      end
      sleep random.rand * 0.004
      threads.each { |thread| random.rand < 0.5 ? thread.kill : thread.raise("enough") }
      threads.each { |thread| thread.join rescue nil }
    end
    assert_equal [200] * 8, Array.new(8) { Thread.new { client.get(url("/r/1")).status } }.map(&:value)
    client.close
    assert_equal [0, 0], client.stats.values_at(:in_use, :waiting)
    assert_operator descriptors, :<=, before
  end

  def test_requests_survive_a_garbage_collection_at_every_allocation
    client = client(timeout: 60)
    GC.stress = true
    echo = client.post(url("/echo"), headers: { "x-a" => %w[1 2] }, body: "b" * 100)
    outcomes = []
    client.batch(concurrency: 3) { |batch|
      5.times { |id| batch.get(url("/r/#{id}")).on_complete { |outcome| outcomes << outcome } }
    }
    error = assert_raises(Hecaton::BodyError) { client.get(url("/fault/truncate")) }
    streamed = client.get(url("/bytes/1000")) { |response| response.each_chunk.sum(&:bytesize) }
    GC.stress = false
    assert_equal 1000, streamed
    assert_equal "b" * 100, JSON.parse(echo.body)["body"]
    assert_equal %w[1 2], echo.headers.then { JSON.parse(echo.body)["headers"] }.filter_map { |name, value|
      value if name == "x-a"
    }
    assert_equal [200] * 5, outcomes.map { |outcome| outcome.response.status }
    assert_equal 1, error.attempts.size
  ensure
    GC.stress = false
  end

  def test_queued_requests_survive_a_compaction
    statuses = []
    client(timeout: 60).batch(concurrency: 2) do |batch|
      20.times do |id|
        batch.get(url("/r/#{id}")).on_complete do |outcome|
          statuses << outcome.response.status
          GC.compact if (id % 5).zero?
        end
      end
    end
    assert_equal [200] * 20, statuses
  rescue NotImplementedError
    skip "this Ruby does not compact"
  end

  def test_bodies_in_parts_survive_a_garbage_collection_at_every_allocation
    client = client(timeout: 60)
    size = 0
    GC.stress = true
    client.batch(concurrency: 2) { |batch|
      3.times { batch.get(url("/bytes/1000")).on_headers { nil }.on_body { |chunk| size += chunk.bytesize } }
    }
    GC.stress = false
    assert_equal 3000, size
  ensure
    GC.stress = false
  end

  # In a child: parsers of other libraries (rbs 2.1, which the tests of signatures use) crash when their objects have
  # moved.
  def test_requests_survive_compaction
    skip "this Ruby cannot compact its heap" unless GC.respond_to?(:compact)
    reading, writing = IO.pipe
    child = fork do
      writing.write(Marshal.dump(compacted))
      writing.close
      exit!(true)
    end
    writing.close
    said = reading.read
    assert_predicate Process.wait2(child).last, :success?
    skip "this Ruby cannot compact its heap" if Marshal.load(said).nil?
    assert_equal [[133, [:status]]] * 100, Marshal.load(said)
  ensure
    reading&.close
  end

  def test_the_process_ends_promptly_with_requests_in_flight
    script = <<~RUBY
      require "hecaton"
      client = Hecaton::Client.new(timeout: 60)
      4.times { Thread.new { client.get(#{url("/fault/stall-head").inspect}) } }
      Thread.new { client.batch { |batch| 50.times { batch.get(#{url("/fault/stall-body").inspect}) } } }
      sleep 0.5
      at_exit { print Process.clock_gettime(Process::CLOCK_MONOTONIC) }
    RUBY
    output = IO.popen([RbConfig.ruby, "-I#{File.expand_path("../lib", __dir__)}", "-e", script],
      err: File::NULL, &:read)
    assert_predicate $?, :success?
    # From the end of the program to that of the process; what is in flight would continue for a minute.
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - Float(output), :<, 30
  end

  private

  # Requests during which the heap is compacted: of each the bytes of its body, and how its attempts ended. nil where
  # that is not possible.
  def compacted
    stored = []
    client.batch(concurrency: 10) do |batch|
      100.times do |id|
        batch.get(url("/r/#{id}")).on_complete do |outcome|
          stored << outcome
          GC.compact if (id % 20).zero?
        end
      end
    end
    GC.compact
    stored.map { |outcome| [outcome.response.body.bytesize, outcome.attempts.map(&:ending)] }
  rescue NotImplementedError
    nil
  end

  # One of the things that a thread may be doing when it is killed.
  def use(client, random)
    case random.rand(3)
    when 0 then client.get(url("/fault/stall-head"))
    when 1 then client.batch(concurrency: 2) { |batch| 4.times { batch.get(url("/delay/1")) } }
    else 20.times { client.get(url("/r/1")) }
    end
  end

  # Resident bytes, free memory given back first.
  def memory
    GC.start
    File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i << 10
  end
end
