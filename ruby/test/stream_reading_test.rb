# A Stream read as an IO is: bytes, lines, all of it; with whatever takes an IO.
require "test_helper"
require "scripted"
require "csv"
require "stringio"
require "tempfile"
require "zlib"

class StreamReadingTest < ServerTest
  # The block's value for a stream of this body, which comes in these pieces.
  def stream(*pieces, type: "text/plain; charset=utf-8", **options)
    head = "HTTP/1.1 200 OK\r\nContent-Type: #{type}\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = pieces.map { |piece| "#{piece.bytesize.to_s(16)}\r\n".b + piece.b + "\r\n".b }.join
    Scripted.run({ "/x?secret" => "#{head}#{chunks}0\r\n\r\n".b }) do |server|
      client(**options).get("#{server.url}/x?secret") { |response| yield response }
    end
  end

  def test_a_charset_that_ruby_has_no_encoding_for_is_bytes
    Scripted.run({ "/" => Scripted.response(200,
      { "Content-Type" => "text/plain; charset=internal" }, "a\n") }) do |server|
      client = client()
      assert_equal Encoding::BINARY, client.get("#{server.url}/").body.encoding
      assert_equal ["a\n", Encoding::BINARY], client.get("#{server.url}/") { |stream|
        stream.read.then { |text| [text, text.encoding] }
      }
      assert_equal ["a\n"], client.get("#{server.url}/") { |stream| stream.each_line.to_a }
    end
  end

  def test_read_is_that_of_an_io
    text = "one\ntwo é\n" * 3000
    [[nil], [5, 0, 100_000], [1, nil, nil, 1], [0], [40_000, 5], [33_000, 33_000, nil, 5, nil]].each do |lengths|
      file = StringIO.new(text.b)
      expected = lengths.map { |length| file.read(length)&.b }
      assert_equal expected,
        stream(text[0, 9], text[9..]) { |response| lengths.map { |length| response.read(length)&.b } },
        lengths.inspect
    end
  end

  def test_read_takes_a_buffer
    buffer = +"before"
    stream("abcdef") do |response|
      assert_same buffer, response.read(4, buffer)
      assert_equal "abcd", buffer
      assert_same buffer, response.read(nil, buffer)
      assert_equal "ef", buffer
      assert_nil response.read(1, buffer)
      assert_equal "", buffer
    end
  end

  def test_encodings
    stream("é\né\né") do |response|
      assert_equal [Encoding::BINARY, Encoding::UTF_8, Encoding::BINARY],
        [response.read(1), response.gets, response.readpartial(1)].map(&:encoding)
      assert_equal [Encoding::UTF_8, "\xA9\né"], response.read.then { |rest| [rest.encoding, rest] }
    end
    assert_equal Encoding::ISO_8859_1, stream("\xE9", type: "text/plain; charset=iso-8859-1") { |response|
      response.gets.encoding
    }
    assert_equal Encoding::BINARY, stream("a", type: "x/y") { |response| response.read.encoding }
    wide = "text/plain; charset=utf-16le"
    assert_match(/UTF-16LE cannot be found/, error_of(ArgumentError) { stream("a\0", type: wide, &:gets) }.message)
    assert_equal "a", stream("a\0", type: wide, &:read).encode("UTF-8")
  end

  def test_readpartial
    stream("abcdef") do |response|
      assert_equal ["ab", "", "cdef"], [response.readpartial(2), response.readpartial(0), response.readpartial(100)]
      buffer = +"before"
      assert_raises(EOFError) { response.readpartial(1, buffer) }
      assert_equal "", buffer
      assert_raises(EOFError) { response.readpartial(1) }
    end
  end

  def test_lines_are_those_of_an_io_wherever_they_are_cut
    random = Random.new(1)
    text = Array.new(300) { "é" * random.rand(0..20) + ["\n", "\r\n", "--", "\n\n"].sample(random: random) }.join
    [[], ["\r\n"], ["--"], [7], ["\n", 9], [nil]].each do |arguments|
      [false, true].each do |chomp|
        pieces = text.b.scan(/.{1,#{random.rand(2..400)}}/mn)
        next if chomp && arguments == [nil] # Rubies differ.

        # By bytes on both sides: an IO moves a limit, so that it cuts no character.
        expected = IO.pipe do |reader, writer|
          Thread.new { writer.binmode.write(text); writer.close }
          reader.binmode.each_line(*arguments, chomp: chomp).to_a
        end
        lines = stream(*pieces) { |response| response.each_line(*arguments, chomp: chomp).map(&:b) }
        assert_equal expected, lines, "#{arguments} #{chomp}"
      end
    end
  end

  def test_each_line_resumes_where_it_was_left
    stream("a\nb\nc\nd") do |response|
      assert_equal "a\n", response.each_line.first
      response.each_line { break }
      assert_equal "c\n", response.gets
      assert_same response, response.each_line { |line| assert_equal "d", line }
      assert_nil response.gets
    end
  end

  def test_each_chunk_resumes_too_and_eof_takes_nothing
    stream("abc", "def") do |response|
      refute_predicate response, :eof?
      assert_equal "a", response.read(1)
      assert_equal "bcdef", response.each_chunk.to_a.join
      assert_equal [true, true], [response.eof?, response.eof]
      assert_equal ["", nil, nil], [response.read, response.read(1), response.gets]
    end
    assert stream(&:eof?)
  end

  def test_bad_arguments
    stream("abc") do |response|
      [-> { response.read(-1) }, -> { response.readpartial(nil) },
       -> { response.gets("") }, -> { response.gets(:x) }, -> { response.gets("x", -1) },
       -> { response.each_line(0) { flunk } }].each { |bad| assert_raises(ArgumentError, &bad) }
      assert_equal "abc", response.read
    end
  end

  def test_what_is_held_whole_has_a_limit
    body = "x" * 3000
    { "what is left of the body" => :read, "a line" => :gets }.each do |what, reading|
      error = error_of(Hecaton::BodyError) { stream(body, max_body: 2000, &reading) }
      assert_match(/\A#{what} is longer than max_body, 2000 bytes \(http:[^?]*\/x\)\z/, error.message)
      assert_equal [:read, true, 1], [error.phase, error.sent?, error.attempts.size]
    end
    assert_equal [body, 3000],
      [stream(body, &:read), stream(body, max_body: 2000) { |response| response.read(4000).bytesize }]
    assert_equal 1500, stream(body, max_body: 2000) { |response| response.gets(1500).bytesize }
  end

  def test_the_default_of_that_limit_is_the_engines
    page = File.read(File.expand_path("../../docs/settings.md", __dir__))
    default = page[/^### `max_body`\n\n\*.*default `(\d+)`/, 1]
    assert_equal Integer(default), stream("a") { |response| response.instance_variable_get(:@most) }
  end

  def test_copy_stream
    Tempfile.create("copy") do |file|
      file.binmode
      client = client()
      assert_equal 3_000_000, client.get(url("/bytes/3000000")) { |response| IO.copy_stream(response, file) }
      file.rewind
      assert_equal client.get(url("/bytes/3000000")).body.b, file.read
      assert_equal 1, client.idle_connections
      assert_equal 1000, client.get(url("/bytes/3000000")) { |response| IO.copy_stream(response, file.path, 1000) }
      assert_equal 1000, File.size(file.path)
    end
  end

  def test_what_takes_an_io_takes_a_stream
    assert_equal [%w[a b], %w[1 é]], stream("a,b\n", "1,é\n") { |response| CSV.new(response).to_a }
    packed = Zlib.gzip("hello " * 1000)
    assert_equal "hello " * 1000, stream(packed[0, 11], packed[11..], type: "x/y") { |response|
      Zlib::GzipReader.new(response).read
    }
  end

  def test_errors_are_those_of_each_chunk
    %i[read gets].each { |reading| assert_raises(Hecaton::BodyError) { client.get(url("/fault/truncate"), &reading) } }
    assert_raises(Hecaton::TimeoutError) { client(read_timeout: 0.1).get(url("/fault/stall-body"), &:read) }
    stored = client.get(url("/bytes/100000")) { |response| response.tap { response.read(1) } }
    [-> { stored.read }, -> { stored.readpartial(1) }, -> { stored.gets },
     -> { stored.eof? }, -> { stored.each_chunk {} }].each do |late|
      assert_match(/block has ended/, error_of(RuntimeError, &late).message)
    end
  end

  def test_a_child_of_fork_reads_nothing_of_what_its_parent_has_left
    client.get(url("/bytes/100000")) do |response|
      response.read(1)
      reader, writer = IO.pipe
      pid = fork do
        reader.close
        response.read(1)
      rescue Hecaton::ForkError
        writer.write("refused")
      ensure
        writer.close
        exit!(0)
      end
      writer.close
      assert_equal "refused", reader.read
      Process.wait(pid)
      assert_equal 99_999, response.read.bytesize
    end
  end
end
