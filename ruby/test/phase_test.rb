# Every phase ends within 50 ms of its limit: once, never doubled, and the server sees one attempt.
require "test_helper"
require "open3"
require "scripted"
require "socket"
require "tmpdir"

class PhaseTest < ServerTest
  LIMIT = 0.2
  # What is promised.
  LATE = 0.05
  # Others use the machine too, and may keep a process from its turn for longer: that is chance, and not so each time.
  TRIES = 100

  def test_a_wait_for_a_connection_ends_in_time_and_sends_nothing
    own = TestServer.new
    { queue: { queue_timeout: LIMIT }, total: {} }.each do |reported, settings|
      client = client(per_origin: 1, **settings)
      client.get("#{own.url}/bytes/5000000") do
        error, = in_time(:queue) { client.get("#{own.url}/r/1", timeout: reported == :total ? LIMIT : 5) }
        assert_equal [reported, false], [error.phase, error.sent?]
      end
    end
    assert_equal 0, own.ledger["items"]
  ensure
    own&.stop
  end

  def test_connecting_ends_in_time
    lost do |address|
      { connect: { connect_timeout: LIMIT }, total: { timeout: LIMIT } }.each do |reported, settings|
        error, = in_time(:connect) { client(**settings).get(address) }
        assert_equal [reported, false], [error.phase, error.sent?]
      end
    end
  end

  def test_a_handshake_ends_in_time
    Peer.run { |peer| holds(:tls, "https://127.0.0.1:#{peer.port}/", peer.method(:connections)) }
  end

  def test_sending_ends_in_time
    body = "x" * 50_000_000
    Peer.run { |peer| holds(:send, peer.url, peer.method(:connections), body: body) }
  end

  def test_the_wait_for_a_response_ends_in_time = holds_at_the_origin(:first_byte, "stall-head")

  def test_the_wait_for_more_of_a_body_ends_in_time = holds_at_the_origin(:read, "stall-body")

  def test_a_body_that_drips_ends_with_the_total_in_time
    error, = in_time(:read) { client(timeout: LIMIT).get(url("/fault/drip")) }
    assert_equal :total, error.phase
  end

  # A resolver that takes its time, instead of the C library's.
  SLOW = <<~C
    #include <unistd.h>
    int getaddrinfo(const char *name, const char *service, const void *hints, void *result) { sleep(2); return -2; }
  C

  def test_resolving_ends_in_time
    compiler = RbConfig::CONFIG["CC"].split.first
    found = system(compiler, "--version", out: File::NULL)
    skip "no C compiler (#{compiler}), which makes the slow resolver" unless found
    script = <<~RUBY
      require "hecaton"
      { resolve: { timeout: 5, resolve_timeout: #{LIMIT} }, total: { timeout: #{LIMIT} } }.each do |reported, settings|
        ended = Array.new(20) do
          Hecaton::Client.new(proxy: false, **settings).get("http://slow.example/")
        rescue Hecaton::TimeoutError => error
          [error.phase, error.attempts.map(&:phase), error.sent?] == [reported, [:resolve], false] && error.elapsed
        end
        puts ended.all? { |elapsed| elapsed && elapsed >= #{LIMIT} } && ended.min < #{LIMIT + LATE}
      end
    RUBY
    Dir.mktmpdir do |folder|
      library = File.join(folder, "slow.so")
      said, status = Open3.capture2e(compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", library, stdin_data: SLOW)
      assert_predicate status, :success?, said
      command = [RbConfig.ruby, "-I#{File.expand_path("../lib", __dir__)}", "-e", script]
      assert_equal "true\ntrue\n", Open3.capture2e({ "LD_PRELOAD" => library }, *command).first
    end
  end

  private

  # The failure that came in time and in this phase. None is early, tried again, or twice as late. The Range goes from
  # the tries that got so far to all tries: on a busy machine some end before.
  def in_time(phase, &block)
    far = 0
    (1..TRIES).each do |tries|
      error = assert_raises(Hecaton::TimeoutError, &block)
      assert_equal 1, error.attempts.size
      assert_operator error.elapsed, :>=, LIMIT
      next unless error.attempts.last.phase == phase

      far += 1
      return error, far..tries if error.elapsed < LIMIT + LATE
    end
    flunk "more than #{LATE} s late, #{TRIES} times in a row"
  end

  # The errors at the limit of a phase, and at the total in that phase. Calling arrived returns the number of requests
  # that the server has seen.
  def holds(phase, address, arrived, **request)
    { phase => { "#{phase}_timeout": LIMIT }, total: { timeout: LIMIT } }.each do |reported, settings|
      client = client(**settings)
      before = arrived.call
      error, tries = in_time(phase) { client.post(address, **request) }
      assert_equal [reported, phase != :tls], [error.phase, error.sent?]
      assert_equal(reported == phase ? :failed : :unfinished, error.attempts.last.ending)
      wait_until { arrived.call - before >= tries.begin } # It may take a moment to see the last one.
      assert_includes tries, arrived.call - before, "one attempt each"
    end
  end

  def holds_at_the_origin(phase, fault)
    own = TestServer.new
    holds(phase, "#{own.url}/fault/#{fault}", -> { own.arrived })
  ensure
    own&.stop
  end

  # A listener whose queue is full leaves connections unanswered, as a lost host would.
  def lost
    server = Socket.new(:INET, :STREAM)
    server.bind(Addrinfo.tcp("127.0.0.1", 0))
    server.listen(0)
    target = server.local_address
    fillers = Array.new(4) { Socket.new(:INET, :STREAM) }
    fillers.each { |filler| filler.connect_nonblock(target, exception: false) }
    yield "http://127.0.0.1:#{target.ip_port}/"
  ensure
    [server, *fillers].compact.each(&:close)
  end
end
