# A forked child has none of its parent's connections, and the parent keeps them as they were.
require "test_helper"
require "scripted"
require "tmpdir"

class ForkTest < ServerTest
  # A server of one connection that never responds: [its address, a queue of :requested and :ended].
  def silent
    seen = Queue.new
    play = lambda do |connection|
      connection.gets("\r\n\r\n")
      seen << :requested
      connection.read
      seen << :ended
    rescue SystemCallError
      seen << :ended # As a reset.
    end
    Peer.run(play) { |peer| yield peer.url, seen }
  end

  # The output of a child, which lives until the given block has ended.
  def beside_child(body = -> {})
    reader, writer = IO.pipe
    hold, release = IO.pipe
    pid = fork do
      reader.close
      release.close
      writer.write(Marshal.dump(body.call))
      writer.close
      hold.read
    ensure
      exit!($!.nil? ? 0 : 1)
    end
    [writer, hold].each(&:close)
    yield reader.read.then { |said| Marshal.load(said) }
  ensure
    [reader, release].each(&:close)
    Process.wait(pid)
    assert_predicate $?, :success?
  end

  # At most so long for what never comes without it.
  def pop(queue)
    wait_until(20) { !queue.empty? }
    queue.empty? ? :nothing : queue.pop
  end

  def connection_of(client) = JSON.parse(client.get(url("/echo")).body)["connection"]

  def test_a_server_sees_the_end_of_a_request_that_the_parent_gave_up_while_a_child_lives
    silent do |address, seen|
      client = client(timeout: 60)
      requesting = Thread.new { client.get(address) }
      assert_equal :requested, pop(seen)
      beside_child do
        requesting.kill.join
        assert_equal :ended, pop(seen)
      end
    end
  end

  def test_a_server_sees_the_end_while_an_unaware_child_lives
    silent do |address, seen|
      client = client(timeout: 60)
      requesting = Thread.new { client.get(address) }
      assert_equal :requested, pop(seen)
      without_forgetting do
        beside_child do
          requesting.kill.join
          assert_equal :ended, pop(seen)
        end
      end
    end
  end

  # With a fork past the C library, which notifies nobody. Such a child may wait for ever for a lock of Ruby or of the C
  # library, because a thread held it that the child does not have. The kernel ends that child, and it is tried again.
  def without_forgetting
    skip "the numbers of system calls are those of Linux on x86-64" unless RUBY_PLATFORM.start_with?("x86_64-linux")
    extend(UntoldFork)
    tries = 3
    begin
      yield
    rescue StandardError, Minitest::Assertion
      ended = $?.signaled? && $?.termsig == Signal.list["ALRM"]
      raise unless ended && (tries -= 1).positive?

      retry
    end
  end

  module UntoldFork
    FORK = 57
    ALARM = 37
    LONGEST = 60 # seconds

    def fork
      handler = trap("ALRM", "SYSTEM_DEFAULT")
      child = silently { syscall(FORK) }
      return child unless child.zero?

      silently { syscall(ALARM, LONGEST) }
      yield
    ensure
      trap("ALRM", handler)
    end

    # Ruby warns of syscall.
    def silently
      verbose, $VERBOSE = $VERBOSE, nil
      yield
    ensure
      $VERBOSE = verbose
    end
  end

  # The output of a script in a process of its own, where no other test has left a descriptor. It has a client, an
  # address, and `links`: how many descriptors of a client there are more than at its begin.
  def alone(script, *arguments)
    lib = ENV.fetch("HECATON_LIB") { File.expand_path("../lib", __dir__) }
    command = [RbConfig.ruby, "-I#{lib}", "-e", ALONE + script, url("/r/1"), *arguments]
    IO.popen([*command, err: %i[child out]], &:read)
  end

  ALONE = <<~'RUBY'
    require "hecaton"
    $stdout.sync = true
    count = lambda do
      Dir.children("/proc/self/fd").filter_map { |name| File.readlink("/proc/self/fd/#{name}") rescue nil }
         .grep(/socket|eventpoll|eventfd/).size
    end
    address, = ARGV
    first = count.call
    links = -> { count.call - first }
    client = Hecaton::Client.new(timeout: 20)
  RUBY

  # Each generation forks the next with a connection and a reactor open.
  GENERATIONS = <<~RUBY
    generation = lambda do |left|
      print links.call, " "
      client.get(address).status == 200 or raise
      print links.call, " "
      next if left.zero?

      Process.wait(fork { generation.call(left - 1) })
      client.get(address)
      raise "its connection was lost" unless client.stats[:opened] == 1
    end
    generation.call(3)
  RUBY

  def test_descriptors_do_not_grow_from_child_to_child
    # Before its first request and after, each: a reactor, and a connection with it. A child begins with nothing.
    assert_equal "3 4 0 4 0 4 0 4 ", alone(GENERATIONS)
  end

  CLOSED = <<~RUBY
    client.get(address)
    open = links.call
    Process.wait(fork { client.get(address); client.close; print links.call, " " })
    print links.call - open, " ", client.get(address).status, " ", client.stats[:opened]
  RUBY

  def test_a_child_that_closes_its_client_has_no_descriptor_left
    assert_equal "0 0 200 1", alone(CLOSED) # The parent has its own as they were.
  end

  def test_the_parents_connection_is_used_again_after_a_child_used_its_own_and_ended
    client = client()
    before = connection_of(client)
    child = beside_child(-> { [connection_of(client), connection_of(client)].tap { client.close } }) { |said| said }
    assert_equal before, connection_of(client)
    assert_equal 1, child.uniq.size
    refute_equal before, child.first
    assert_equal 1, client.stats[:opened]
  end

  DAEMON = <<~RUBY
    client.get(address)
    reader, writer = IO.pipe
    fork do
      reader.close
      client.get(address)
      Process.daemon(true, true)
      2.times { client.get(address) }
      writer.print links.call, " ", client.stats[:opened]
    end
    Process.wait
    writer.close
    print reader.read
  RUBY

  def test_a_daemon_begins_with_nothing_of_what_it_left
    skip "this system has no daemons" unless Process.respond_to?(:daemon)
    assert_equal "4 1", alone(DAEMON) # As a process that has sent one request.
  end

  # A daemon closes what it did not open, and opens its logs: under the numbers that its parent's connections had. FORK
  # is what it is forked by; it continues in the child, and reports by `writer`.
  LOGS = <<~'RUBY'
    4.times.map { Thread.new { client.get(address) } }.each(&:join)
    reader, writer = IO.pipe
    become_child = lambda do
      FORK
    end
    if become_child.call
      reader.close
      stored = [0, 1, 2, writer.fileno]
      open = Dir.children("/proc/self/fd").map(&:to_i) - stored
      open.each { |number| IO.for_fd(number).close rescue nil }
      logs = Array.new(12) { |index| File.open("#{ARGV[1]}/#{index}", "w").tap { |log| log.sync = true } }
      status = (client || Hecaton::Client.new(timeout: 20)).get(address).status
      logs.each { |log| log.puts("line") }
      writer.print status, " ", logs.count { |log| File.size(log.path) == 5 }
      writer.close
      exit!(0)
    end
    writer.close
    print reader.read
  RUBY

  # Each returns true in the child, false in the parent.
  FORKS = {
    "fork" => "!fork",
    "daemon" => "next false if fork; client.get(address); Process.daemon(true, true); true",
    "double fork" => "next false if fork; exit!(0) if fork; true",
    "popen" => "IO.popen('-', 'w').nil?",
    "past the C library" => "$VERBOSE = nil; trap('ALRM', 'SYSTEM_DEFAULT'); syscall(57).zero? && syscall(37, 60)",
    "daemon before any client" => <<~'RUBY'
      next false if fork
      Process.daemon(true, true)
      client = nil
      GC.start
      true
    RUBY
  }.freeze

  FORKS.each do |name, code|
    define_method(:"test_files_of_a_child_keep_their_numbers_#{name.tr(" ", "_")}") do
      if code.include?("syscall") && !RUBY_PLATFORM.start_with?("x86_64-linux")
        skip "the number of fork is that of Linux on x86-64"
      end
      Dir.mktmpdir do |folder|
        assert_equal "200 12", alone(LOGS.sub("FORK") { code }, folder)
      end
    end
  end

  HANDLER = <<~'RUBY'
    require "socket"
    parent = Process.pid
    trap("USR1") { fork }
    server = TCPServer.new("127.0.0.1", 0)
    Thread.new do
      connection = server.accept
      connection.readpartial(10_000)
      Process.kill("USR1", parent)
      sleep 0.01 until (Process.wait rescue nil)
      connection.write("HTTP/1.1 204 X\r\n\r\n")
    end
    begin
      said = client.get("http://127.0.0.1:#{server.local_address.ip_port}/").status
    rescue Hecaton::ForkError => error
      said = "#{error.class} #{client.get(address).status}"
      client = nil
      GC.start
    end
    puts "#{Process.pid == parent ? "parent" : "child"} #{said}"
  RUBY

  def test_a_handler_of_signals_may_fork_while_a_request_is_waited_for
    assert_equal ["child Hecaton::ForkError 200", "parent 204"], alone(HANDLER).lines(chomp: true).sort
  end

  def test_a_handler_of_signals_may_fork_while_a_batch_waits
    handler = HANDLER.sub("said = client.get(", "client.batch { |batch| pending = batch.get(")
    handler = handler.sub('/").status', '/") }; said = pending.outcome.status')
    handler = handler.sub("error.class}", "error.class} \#{pending.outcome.class}")
    said = alone("pending = nil\n#{handler}").lines(chomp: true).sort
    assert_equal ["child Hecaton::ForkError Hecaton::CancelledError 200", "parent 204"], said
  end

  # Each kind of Ruby code that the engine calls while a request is under way. The child returns from it, too.
  RETURNING = <<~'RUBY'
    way = ARGV.last
    parent = Process.pid
    forked = -> { $stdout.flush and fork if Process.pid == parent && ($forked = !$forked) }
    feature = Class.new { define_method(:before_attempt) { |*| forked.call && nil } }.new
    body = Object.new
    pieces = ["piece"]
    body.define_singleton_method(:read) { |*| forked.call && nil || pieces.shift }
    settings = way == "feature" ? { features: [feature] } : {}
    options = {
      "predicate" => { retry: { if: ->(_) { forked.call && nil } } }, "body" => { body: body }
    }.fetch(way, {})
    client = Hecaton::Client.new(timeout: 20, **settings)
    send = -> { way == "body" ? client.post(address, **options) : client.get(address, **options) }
    said = begin
      "ended #{send.call.status}"
    rescue Hecaton::Error => error
      "#{error.class} #{client.get(address).status}"
    end
    puts "#{Process.pid == parent ? "parent" : "child"} #{said}"
  RUBY

  def test_ruby_code_that_the_engine_calls_may_fork
    %w[feature predicate body].each do |way|
      said = alone(RETURNING, way).lines(chomp: true).sort
      assert_equal ["child Hecaton::ForkError 200", "parent ended 200"], said, way
    end
  end
end
