# Request bodies of all kinds arrive whole, are read while they are sent, and never corrupt a request.
require "test_helper"
require "monitor"
require "pathname"
require "scripted"
require "stringio"
require "tempfile"
require "timeout"
require "zlib"

class UploadTest < ServerTest
  def echo(**options)
    JSON.parse(client.post(url("/echo"), **options).body).tap { |seen|
      seen["headers"].each { |field| field[0] = field[0].downcase }
    }
  end

  def headers(seen) = seen["headers"].to_h.transform_keys(&:downcase)
  def upload(**options) = JSON.parse(client.put(url("/upload"), **options).body)

  def file(content)
    Tempfile.create("hecaton") do |file|
      file.binmode
      file.write(content)
      file.rewind
      yield file
    end
  end

  def test_a_stop_iteration_of_a_body_does_not_end_it_as_if_it_were_whole
    cut = Class.new do
      def each
        yield "piece"
        [].each.next
      end
    end
    assert_raises(StopIteration) { client.post(url("/echo"), body: cut.new) }
    assert_raises(StopIteration) {
      client.post(url("/echo"), body: Enumerator.new { |out| out << "piece" and raise StopIteration })
    }
  end

  def test_an_io_with_a_size_is_sent_with_its_length_from_where_it_stands
    file("0123456789") do |file|
      file.pos = 3
      seen = echo(body: file)
      assert_equal ["3456789", "7", nil],
        [seen["body"], *headers(seen).values_at("content-length", "transfer-encoding")]
      assert_equal "0123456789", echo(body: Pathname(file.path))["body"]
    end
    seen = echo(body: StringIO.new("é"))
    assert_equal ["é", "2"], [seen["body"], headers(seen)["content-length"]]
    assert_equal "", echo(body: StringIO.new)["body"]
  end

  def test_empty_bodies_have_the_length_0
    file("") do |empty|
      [empty, Pathname(empty.path), StringIO.new, empty.path.then { |path| File.open(path) }].each do |body|
        seen = headers(echo(body: body))
        assert_equal ["0", nil], seen.values_at("content-length", "transfer-encoding"), body.class
      end
      seen = headers(echo(multipart: { a: Pathname(empty.path) }))
      assert_nil seen["transfer-encoding"]
    end
    file("abc") do |file|
      File.unlink(file.path)
      assert_equal "3", headers(echo(body: file))["content-length"]
      file.read # Nothing is left.
      assert_equal "0", headers(echo(body: file))["content-length"]
      File.write(file.path, "") # For who deletes it.
    end
  end

  # The kernel reports a wrong size for these files: 0 bytes, or a page.
  def test_files_that_the_kernel_generates_are_sent_in_chunks
    unless File.exist?("/proc/self/status") && File.exist?("/sys/kernel/mm/transparent_hugepage/enabled")
      skip "this system has no /proc"
    end
    %w[/proc/version /sys/kernel/mm/transparent_hugepage/enabled].each do |path|
      Dir.mktmpdir do |folder|
        File.symlink(path, link = File.join(folder, "link"))
        [File.open(path), Pathname(path), Pathname(link)].each do |body|
          seen = echo(body: body)
          assert_equal [File.read(path), nil, "chunked"],
            [seen["body"], *headers(seen).values_at("content-length", "transfer-encoding")]
        end
      end
    end
  end

  def test_a_length_among_the_headers_is_taken_if_it_is_right
    seen = headers(echo(body: "abc", headers: { "Content-Length" => "3" }))
    assert_equal "3", seen["content-length"]
    assert_equal "0", headers(echo(headers: { content_length: 0 }))["content-length"]
    error = error_of(ArgumentError) { echo(body: "abc", headers: { "Content-Length" => "5" }) }
    assert_match(/says 5.*has 3 bytes/, error.message)
    error = error_of(ArgumentError) {
      client.batch { |batch| batch.post(url("/echo"), body: StringIO.new("abc"), headers: { "Content-Length" => 4 }) }
    }
    assert_match(/says 4.*has 3 bytes/, error.message)
    error_of(ArgumentError) { client(headers: { "Content-Length" => "3" }) }
  end

  # A pipe has no length, but the program may know it. The body must then have exactly that length.
  def test_a_length_among_the_headers_counts_for_an_io_without_a_size
    reader, writer = IO.pipe
    writer.write("abc")
    writer.close
    seen = echo(body: reader, headers: { "Content-Length" => "3" })
    assert_equal ["abc", "3", nil], [seen["body"], *headers(seen).values_at("content-length", "transfer-encoding")]
    reader, writer = IO.pipe
    writer.write("abc")
    writer.close
    error_of(Hecaton::BodyError) { echo(body: reader, headers: { "Content-Length" => "4" }) }
    assert_equal "ab", echo(body: %w[a b], headers: { "Transfer-Encoding" => "chunked" })["body"]
    error_of(ArgumentError) { echo(body: "ab", headers: { "Transfer-Encoding" => "chunked" }) }
  end

  # The engine waits for the pipe together with its sockets. Ruby is called once, and again when the pipe can be read.
  def test_a_silent_pipe_holds_up_no_other_request_of_its_batch
    reader, writer = IO.pipe
    waits = []
    reader.define_singleton_method(:wait_readable) { |seconds = nil| waits << seconds; super(seconds) }
    ended = []
    client.batch(concurrency: 4) do |batch|
      batch.post(url("/echo"), body: reader, timeout: 60).on_complete { |outcome|
        ended << JSON.parse(outcome.body)["body"]
      }
      others = Array.new(200) { batch.get(url("/r/1")) }
      others.each { |request| request.on_complete { |outcome| ended << outcome.status } }
      others.last.on_complete do
        writer.write("at last")
        writer.close
      end
    end
    assert_equal [200] * 200 + ["at last"], ended
    assert_equal [0], waits.uniq
    assert_operator waits.size, :<, 10
  end

  def test_a_pipe_that_is_closed_by_another_thread_while_it_is_waited_for
    reader, writer = IO.pipe
    requesting = Thread.new { client.post(url("/echo"), body: reader) }
    requesting.report_on_exception = false
    wait_until { requesting.status == "sleep" }
    reader.close
    writer.close # Of the duplicate that the engine has, this is the end.
    assert_raises(IOError) { requesting.value }
  end

  def test_a_socket_that_a_body_was_read_from_is_left_as_it_is
    own, peer = UNIXSocket.pair
    requesting = Thread.new { client.post(url("/echo"), body: own, headers: { "Content-Length" => "3" }) }
    wait_until { requesting.status == "sleep" }
    peer.write("abc")
    peer.close_write
    assert_equal "abc", JSON.parse(requesting.value.body)["body"]
    own.write("still open")
    own.close
    assert_equal "still open", peer.read
  end

  def test_what_has_no_size_is_sent_in_chunks
    reader, writer = IO.pipe
    Thread.new { 3.times { |i| writer.write("piece #{i} "); sleep 0.01 }; writer.close }
    seen = echo(body: reader)
    assert_equal ["piece 0 piece 1 piece 2 ", nil, "chunked"],
      [seen["body"], *headers(seen).values_at("content-length", "transfer-encoding")]
    assert_equal "abc", echo(body: %w[a b] + ["", "c"])["body"]
    assert_equal "0123", echo(body: Enumerator.new { |yielder| 4.times { |i| yielder << i.to_s } })["body"]
    assert_equal "", echo(body: [])["body"]
  end

  def test_a_large_file_arrives_whole_and_in_pieces
    content = Random.new(1).bytes(20 << 20)
    file(content) do |file|
      seen = upload(body: file)
      assert_equal [content.bytesize, Zlib.crc32(content)], seen.values_at("bytes", "crc32")
    end
    reads = []
    io = StringIO.new("x" * 1_000_000)
    io.define_singleton_method(:read) { |size| reads << size; super(size) }
    assert_equal 1_000_000, upload(body: io)["bytes"]
    assert_operator reads.size, :>, 10
    assert_operator reads.max, :<=, 1 << 20
  end

  def test_json_and_form_bring_their_type_unless_there_is_one
    seen = echo(json: { a: [1, nil] })
    assert_equal ['{"a":[1,null]}', "application/json"], [seen["body"], headers(seen)["content-type"]]
    seen = echo(form: { "a b" => "ä&", c: [1, 2] })
    assert_equal ["a+b=%C3%A4%26&c=1&c=2", "application/x-www-form-urlencoded"],
      [seen["body"], headers(seen)["content-type"]]
    seen = echo(json: [], headers: { "content-type" => "application/problem+json" })
    assert_equal ["[]", "application/problem+json"], [seen["body"], headers(seen)["content-type"]]
    seen = echo(json: false)
    assert_equal ["false", "application/json"], [seen["body"], headers(seen)["content-type"]]
    seen = echo(json: nil)
    assert_equal ["", nil], [seen["body"], headers(seen)["content-type"]]
  end

  def test_multipart
    file("\x00\xFFdata".b) do |file|
      fields = { name: "ä", list: [1, 2], upload: file, typed: { content: "x", filename: "a.txt", type: "text/plain" } }
      request = capture { |target| client.post(target, multipart: fields) }
      boundary = request[/boundary=(\h+)\r\n/, 1]
      assert_match(/^content-length: \d+\r$/i, request)
      expected = ["name=\"name\"\r\n\r\nä", "name=\"list\"\r\n\r\n1", "name=\"list\"\r\n\r\n2",
                  "name=\"upload\"; filename=\"#{File.basename(file.path)}\"\r\nContent-Type: " \
                  "application/octet-stream\r\n\r\n\x00\xFFdata",
                  "name=\"typed\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nx"]
      expected = expected.map { |part| "--#{boundary}\r\nContent-Disposition: form-data; #{part}\r\n".b }
      assert_equal "#{expected.join}--#{boundary}--\r\n".b, request.split("\r\n\r\n", 2).last
    end
  end

  # An upload as Rails passes it to a program: a temporary file with its original name.
  Uploaded = Struct.new(:io, :original_filename, :content_type) do
    undef_method :each, :size
    def read(*size) = io.read(*size)
    def path = "/tmp/RackMultipart1"
  end

  def test_multipart_has_the_name_and_the_type_that_an_upload_came_with
    {
      { f: Uploaded.new(StringIO.new("abc"), "cat \"1\".png", "image/png") } => ["cat %221%22.png", "image/png"],
      { f: { "content" => Uploaded.new(StringIO.new("abc"), "a.png", "image/png"),
             "filename" => "b", "type" => "c/d" } } => ["b", "c/d"],
      { f: Uploaded.new(StringIO.new("abc"), nil, nil) } => ["RackMultipart1", "application/octet-stream"]
    }.each do |fields, (name, type)|
      assert_includes echo(multipart: fields)["body"], "filename=\"#{name}\"\r\nContent-Type: #{type}\r\n\r\nabc\r\n"
    end
  end

  def test_nothing_can_be_injected_into_multipart
    value = { content: "x", filename: "a\"\r\nX: 1" }
    request = capture { |target| client.post(target, multipart: { "n\"\r\nY: 2" => value }) }
    assert_includes request, 'name="n%22%0D%0AY: 2"; filename="a%22%0D%0AX: 1"'
    assert_raises(ArgumentError) { client.post(url("/echo"), multipart: { a: { content: "x", type: "a\r\nX: 1" } }) }
    assert_raises(ArgumentError) { client.post(url("/echo"), multipart: { a: { content: "x", file: "x" } }) }
  end

  def test_what_can_not_be_a_body_is_refused_before_anything_is_sent
    real_server = TestServer.new # The shared one may yet count what other tests gave up.
    target = "#{real_server.url}/echo"
    [5, :a, { a: 1 }].each { |bad| assert_raises(ArgumentError) { client.post(target, body: bad) } }
    error = error_of(ArgumentError) { client.post(target, body: "x", json: {}) }
    assert_match(/body, json cannot be combined/, error.message)
  ensure
    assert_equal 0, real_server.stop.values_at("requests", "aborted").sum
  end

  def test_what_reading_raises_reaches_the_caller_and_closes_the_connection
    client = client()
    broken = Enumerator.new { |yielder| yielder << "a"; raise IOError, "the disk is gone" }
    assert_equal "the disk is gone", error_of(IOError) { client.post(url("/echo"), body: broken) }.message
    assert_raises(TypeError) { client.post(url("/echo"), body: ["a", 1]) }
    assert_equal 0, client.idle_connections
    reader, writer = IO.pipe # Both are held: the end of the writer would be the end of the body.
    assert_raises(Timeout::Error) { Timeout.timeout(0.2) { client.post(url("/echo"), body: reader) } }
    writer.close
    assert_equal 0, client.idle_connections
    assert_equal 200, client.get(url("/r/1")).status
  end

  # What yields by each.
  def body(&block) = Object.new.tap { |body| body.define_singleton_method(:each) { |&piece| block.call(piece) } }

  # Ways to send a body: the outcome, a Response or an Error.
  WAYS = {
    alone: ->(client, url, body) { client.post(url, body: body) },
    batch: lambda do |client, url, body|
      request = nil
      client.batch { |batch| request = batch.post(url, body: body) }
      request.outcome
    end,
    block: ->(client, url, body) { client.post(url, body: body) { |stream| stream.read; stream.outcome } }
  }.freeze

  def test_pieces_that_another_fiber_or_thread_yields_are_sent_or_refused
    elsewhere = {
      fiber: body { |piece| Fiber.new { piece.call("a"); piece.call("b") }.resume; piece.call("c") },
      thread: body { |piece|
        Thread.new { Thread.current.report_on_exception = false; piece.call("a") }.join
        piece.call("bc")
      }
    }
    elsewhere.each do |name, body|
      assert_equal "abc", JSON.parse(client.post(url("/echo"), body: body).body)["body"], name
      %i[batch block].each do |way|
        error = error_of(FiberError) { WAYS[way].call(client, url("/echo"), body) }
        assert_match(/another Fiber or Thread/, error.message)
      end
    end
  end

  def test_a_body_that_suspends_its_each_is_refused
    paused = body { |piece| piece.call("a"); Fiber.yield; piece.call("b") }
    %i[batch block].each do |way|
      error = error_of(FiberError) { WAYS[way].call(client, url("/echo"), paused) }
      assert_match(/suspended its each/, error.message)
    end
  end

  def test_each_of_a_single_request_runs_where_it_is_waited_for
    monitor = Monitor.new
    Thread.current[:given] = "of the caller"
    seen = body { |piece| monitor.synchronize { piece.call(Thread.current[:given].to_s) } }
    sent = monitor.synchronize { JSON.parse(client.post(url("/echo"), body: seen).body)["body"] }
    assert_equal "of the caller", sent
  ensure
    Thread.current[:given] = nil
  end

  def test_ensure_of_each_runs_when_the_request_ends_first
    WAYS.each do |name, way|
      begun = ended = 0
      endless = body do |piece|
        begun += 1
        loop { piece.call("x" * 65_536) }
      rescue Exception # rubocop:disable Lint/RescueException -- what ends it is raised again at the next piece
        piece.call("more")
      ensure
        ended += 1
      end
      outcome = (way.call(client(timeout: 10), url("/early"), endless) rescue $!)
      assert_equal [1, 1], [begun, ended], name
      assert outcome.is_a?(Hecaton::ProtocolError) || outcome.status == 413, name
    end
  end

  def test_an_exception_of_the_caller_leaves_an_each_that_waits
    begun = ended = 0
    full = body do |piece|
      begun += 1
      loop { piece.call("x" * 65_536) }
    ensure
      ended += 1
    end
    server = TCPServer.new("127.0.0.1", 0) # It reads nothing.
    client = client(timeout: 300)
    WAYS.each_value do |way|
      address = "http://127.0.0.1:#{server.local_address.ip_port}/"
      with_growing(0.3) do |limit|
        before = begun
        assert_raises(Timeout::Error) { Timeout.timeout(limit) { way.call(client, address, full) } }
        begun > before
      end
    end
    assert_equal begun, ended
  ensure
    server&.close
  end

  def test_a_file_that_changes_its_size_is_an_error
    [["longer", 20, /more than the announced 10/], ["shorter", 5, /after 5 of the announced 10/]]
      .each do |_, size, message|
      io = StringIO.new("x" * size)
      io.define_singleton_method(:size) { 10 }
      error = error_of(Hecaton::BodyError) { client.post(url("/echo"), body: io) }
      assert_match message, error.message
      assert_equal :send, error.phase
    end
  end

  def test_what_can_be_read_again_is_sent_again_and_what_can_not_says_so
    client = client(retry: { methods: [:post], statuses: [503], interval: 0, max: 1 })
    file("again") do |file|
      [file, StringIO.new("again"), ["again"], Pathname(file.path)].each do |body|
        assert_equal 2, client.post(url("/status/503"), body: body).attempts.size
      end
    end
    once = Enumerator.new { |yielder| yielder << "once" }
    assert_equal 1, client.post(url("/status/503"), body: once).attempts.size
    error = error_of(Hecaton::ProtocolError) { client.post(url("/fault/close"), body: once) }
    assert_match(/read only once/, error.message)
    seen = JSON.parse(client.post(url("/redirect/307/1"), body: StringIO.new("moved"), redirects: 1).body)
    assert_equal "moved", seen["body"]
  end

  def test_an_early_response_is_returned
    endless = Enumerator.new { |yielder| loop { yielder << "x" * 65_536 } }
    status = client.post(url("/early"), body: endless).status
    assert_equal 413, status
  rescue Hecaton::ProtocolError => error
    assert error.sent? # The reset behind the response came first.
  end

  def test_a_body_that_is_slow_to_read_ends_at_the_deadline
    reader, writer = IO.pipe
    drip = -> { Enumerator.new { |yielder| 600.times { yielder << "x"; sleep 0.1 } } }
    client = client(timeout: 0.5)
    [-> { drip.call }, -> { reader }].each do |body|
      error = error_of(Hecaton::TimeoutError) { client.post(url("/upload"), body: body.call) }
      assert_equal :total, error.phase
      assert_operator error.elapsed, :<, 30
      outcomes = []
      client.batch do |batch|
        batch.post(url("/upload"), body: body.call).on_complete { |outcome| outcomes[1] = outcome }
        batch.get(url("/delay/100"), timeout: 60).on_complete { |outcome| outcomes[0] = outcome }
      end
      assert_equal [Hecaton::Response, Hecaton::TimeoutError], outcomes.map(&:class)
      assert_operator outcomes.last.elapsed, :<, 30
    end
  ensure
    [reader, writer].each(&:close)
  end

  def test_one_file_may_be_the_body_of_several_requests_at_once
    content = Random.new(1).bytes(3 * 65_536)
    file(content) do |file|
      [file, StringIO.new(content)].each do |io|
        sums = []
        client.batch { |batch|
          5.times {
            batch.put(url("/upload"), body: io).on_complete { |o| sums << JSON.parse(o.raise_for_status.body)["crc32"] }
          }
        }
        assert_equal [Zlib.crc32(content)] * 5, sums
      end
    end
  end

  def test_a_source_that_yields_nil_does_not_end_the_body_there
    assert_match(/yields NilClass/, error_of(TypeError) { upload(body: ["a", nil, "b"]) }.message)
  end

  def test_bodies_in_a_batch_are_read_when_their_turn_comes_by_the_thread_that_runs_it
    threads = []
    bodies = []
    source = lambda do |number|
      Enumerator.new do |yielder|
        threads << Thread.current
        3.times { |index| yielder << "#{number}.#{index} " }
      end
    end
    client.batch(concurrency: 2) do |batch|
      6.times { |number|
        batch.post(url("/echo"), body: source.call(number)).on_success { |o| bodies << JSON.parse(o.body)["body"] }
      }
      6.times { |number|
        batch.post(url("/echo"), json: { n: number }).on_success { |o| bodies << JSON.parse(o.body)["body"] }
      }
      assert_empty threads
    end
    assert_equal Array.new(6) { |n| "#{n}.0 #{n}.1 #{n}.2 " } + Array.new(6) { |n| "{\"n\":#{n}}" },
      bodies.sort_by { |b| [b[0] == "{" ? 1 : 0, b] }
    assert_equal [Thread.current], threads.uniq
  end

  def test_what_reading_raises_ends_a_batch
    requests = []
    assert_raises(IOError) do
      client.batch do |batch|
        requests << batch.get(url("/fault/stall-head"))
        requests << batch.post(url("/echo"), body: Enumerator.new { |yielder| yielder << "a"; raise IOError })
      end
    end
    assert_equal [Hecaton::CancelledError] * 2, requests.map { |request| request.outcome.class }
  end

  def test_a_streamed_response_may_come_while_the_body_is_read
    body = Enumerator.new { |yielder| 20.times { |index| yielder << "piece #{index} " } }
    play = lambda do |connection|
      connection.gets("\r\n\r\n")
      connection.write("HTTP/1.1 200 OK\r\n\r\n")
      while (size = connection.gets.to_i(16)).positive?
        connection.write(connection.read(size))
        connection.read(2)
      end
    end
    seen = Peer.run(play) do |peer|
      client.post(peer.url, body: body) { |response| response.each_chunk.to_a.join }
    end
    assert_equal Array.new(20) { |index| "piece #{index} " }.join, seen
  end

  def test_sources_survive_the_garbage_collector
    source = lambda do
      Enumerator.new do |yielder|
        5.times do |index|
          GC.start
          yielder << "p#{index}"
        end
      end
    end
    assert_includes client.post(url("/echo"), body: source.call).body, "p0p1p2p3p4"
    seen = nil
    client.batch { |batch| batch.post(url("/echo"), body: source.call).on_success { |response| seen = response.body } }
    assert_includes seen, "p0p1p2p3p4"
  end

  # The bytes of the one request that the block sends to this URL.
  def capture
    Scripted.run("/" => "HTTP/1.1 204 No Content\r\n\r\n") do |server|
      yield "#{server.url}/"
      server.requests.first.b
    end
  end
end
