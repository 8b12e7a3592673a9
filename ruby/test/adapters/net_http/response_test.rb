# Programs get Net::HTTP's results: classes, headers, bodies in each coding, whole or in pieces.
require_relative "support"
require "malformed"

class NetHTTPResponseTest < NetHTTPTest
  def facts(response)
    [response.class, response.code, response.message, response.http_version, response.body, response.body&.encoding,
     response.to_hash.reject { |name, _| name == "date" }, response.uri, response.inspect]
  end

  def test_classes_by_status
    [200, 201, 202, 204, 206, 301, 302, 303, 304, 307, 400, 401, 403, 404, 409, 422, 429, 500, 502, 503]
      .each do |status|
      same_started { |http| facts(http.get("/status/#{status}"))[0..1] }
    end
    assert_instance_of Net::HTTPClientError, start { |http| http.get("/status/499") }
    assert_raises(Net::HTTPFatalError) { start { |http| http.get("/status/500").value } }
    assert_raises(defined?(Net::HTTPClientException) ? Net::HTTPClientException : Net::HTTPServerException) do
      start { |http| http.get("/status/404").error! }
    end
  end

  def test_bodies_whole_and_their_encodings
    %w[/bytes/10 /bytes/0 /chunked/3 /eof /r/1 /encoded/gzip/3000 /encoded/deflate/3000
       /encoded/br/300 /headers?content-type=text/html;charset=utf-8].each do |path|
      same_started { |http| facts(http.get(path)) }
      same_started { |http| facts(http.request(Net::HTTP::Get.new(path, "Accept-Encoding" => "gzip"))) }
    end
  end

  def test_malformed_responses_that_net_http_reads
    Malformed::READ.each do |what, reply|
      Scripted.run("/" => reply.b) do |server|
        assert_equal %w[200 ok],
          (same { |klass|
            klass.get_response(URI("#{server.url}/")).then { |response| [response.code, response.body] }
          }),
          what
      end
    end
  end

  def test_codings_by_the_response
    gzipped = Zlib.gzip("hé" * 100)
    replies = {
      "/x" => Scripted.response(200, { "Content-Encoding" => "x-gzip" }, gzipped),
      "/none" => Scripted.response(200, { "Content-Encoding" => "none" }, "plain"),
      "/other" => Scripted.response(200, { "Content-Encoding" => "zstd" }, "as it is"),
      "/bad" => Scripted.response(200, { "Content-Encoding" => "gzip" }, "no gzip"),
      "/part" => Scripted.response(206,
        { "Content-Encoding" => "gzip", "Content-Range" => "bytes 0-#{gzipped.size - 1}/#{gzipped.size}" }, gzipped)
    }
    Scripted.run(replies) do |server|
      request_once = ->(klass, path) { klass.get_response(URI(server.url + path)) }
      %w[/x /none /other /part].each do |path|
        same { |klass|
          request_once.call(klass, path).then { |response|
            [response.body, response["content-encoding"], response["content-length"]]
          }
        }
      end
      same_error { |klass| request_once.call(klass, "/bad") }
    end
  end

  # Net::HTTP returns what it could decode.
  def test_compressed_bodies_are_read_to_their_end
    text = "hé" * 20_000
    both = Zlib.gzip(text) + Zlib.gzip("more")
    zlib = Zlib::Deflate.deflate(text)
    given = {
      "/both" => ["gzip", both], "/behind" => ["gzip", "#{Zlib.gzip(text)}\0\0\0\0"],
      "/empty" => ["gzip", ""], "/zlib" => ["deflate", zlib],
      "/half" => ["gzip", both[0, 55]], "/second" => ["gzip", both[0...-9]],
      "/begun" => ["gzip", both[0, Zlib.gzip(text).bytesize + 1]],
      "/deflate" => ["deflate", zlib[0...-1]]
    }
    replies = given.transform_values { |coding, body| Scripted.response(200, { "Content-Encoding" => coding }, body) }
    replies["/chunked"] = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: " \
      "chunked\r\n\r\n#{both.bytes.map { |byte| "1\r\n#{byte.chr}\r\n" }.join}0\r\n\r\n".b
    Scripted.run(replies) do |server|
      port = URI(server.url).port
      ways = [
        ->(path) {
          Hecaton::NetHTTP.get_response(URI(server.url + path)).then { |response|
            [response.body, response["content-encoding"], response["content-length"]]
          }
        },
        lambda do |path|
          pieces = "".b
          Hecaton::NetHTTP.start("127.0.0.1", port) { |http|
            http.request_get(path) { |response| response.read_body { |piece| pieces << piece } }
          }
            .then { |response| [pieces, response["content-encoding"], response["content-length"]] }
        end
      ]
      # Older versions of net-http leave the length of what was sent.
      changes = Net::HTTP.get_response(URI("#{server.url}/zlib"))["content-length"] == text.bytesize.to_s
      ways.each do |way|
        whole = { "/both" => "#{text}more", "/behind" => text, "/empty" => "", "/zlib" => text }
        whole.each do |path, body|
          length = (changes ? body : given[path].last).bytesize.to_s
          assert_equal [true, nil, length], way.call(path).then { |got, *fields| [got.b == body.b, *fields] }, path
        end
        assert_equal [true, nil, nil], way.call("/chunked").then { |got, *fields| [got.b == "#{text}more".b, *fields] }
        %w[/half /second /begun /deflate].each { |path|
          assert_match(/cut short/, assert_raises(EOFError, path) { way.call(path) }.message)
        }
      end
      Hecaton::NetHTTP.start("127.0.0.1", port) do |http|
        assert_equal "gzip", http.head("/both")["content-encoding"]
        next unless http.respond_to?(:ignore_eof=)

        http.ignore_eof = true
        got = http.get("/second").body
        assert_equal [true, true], [got.start_with?(text.b), got.bytesize < text.bytesize + 5], got.bytesize
      end
    end
  end

  def in_chunks(body, size)
    chunks = body.bytes.each_slice(size).map { |bytes| "#{bytes.size.to_s(16)}\r\n#{bytes.pack("C*")}\r\n" }
    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: " \
    "chunked\r\n\r\n".b + chunks.map(&:b).join + "0\r\n\r\n"
  end

  def test_what_is_behind_the_last_member_is_ignored_however_it_is_split
    ["\0\0#{Zlib.gzip("more")}", "xx\x1Fxx"].each do |tail|
      body = Zlib.gzip("text").b + tail.b
      (1..body.bytesize).each do |size|
        Scripted.run("/" => in_chunks(body, size)) do |server|
          Hecaton::NetHTTP.start("127.0.0.1", URI(server.url).port) do |http|
            pieces = +""
            http.request_get("/") { |response| response.read_body { |piece| pieces << piece } }
            assert_equal %w[text text], [pieces, http.get("/").body], size
          end
        end
      end
    end
  end

  def test_an_exception_of_the_program_is_not_replaced_while_a_compressed_body_is_read
    body = Zlib.gzip(Random.new(1).bytes(200_000))
    Scripted.run("/" => in_chunks(body, 16_384)) do |server|
      (1..10).each do |count|
        assert_raises(NotImplementedError) do
          Hecaton::NetHTTP.start("127.0.0.1", URI(server.url).port) do |http|
            left = count
            http.request_get("/") { |response| response.read_body { raise NotImplementedError if (left -= 1).zero? } }
          end
        end
      end
    end
  end

  def test_without_a_body
    same_started { |http| facts(http.head("/r/1")).values_at(0, 4, 6) }
    same_started { |http| facts(http.get("/status/204")).values_at(0, 4) }
    same_started { |http| facts(http.get("/status/304")).values_at(0, 4) }
  end

  def test_headers_with_repeats_in_their_order
    path = "/headers?set-cookie=a%3D1&set-cookie=b%3D2&x-empty=&x-one=1"
    response = start { |http| http.get(path) }
    assert_equal %w[a=1 b=2], response.get_fields("Set-Cookie")
    assert_equal "a=1, b=2", response["set-cookie"]
    assert_equal ["1"], response.to_hash["x-one"]
    same_started { |http| http.get(path).to_hash.reject { |name, _| name == "date" } }
    same_started { |http| http.get(path).each_capitalized.to_a.reject { |name, _| name == "Date" } }
  end

  def test_bodies_in_pieces
    %w[/bytes/100000 /bytes/0 /chunked/3 /encoded/gzip/50000].each do |path|
      same_started do |http|
        pieces = []
        http.request_get(path) { |response| response.read_body { |piece| pieces << piece.dup } }
        [pieces.join, pieces.map(&:encoding).uniq]
      end
    end
    assert_operator start { |http|
      [].tap { |sizes| http.get("/bytes/1000000") { |piece| sizes << piece.bytesize } }
    }.size,
      :>, 1
  end

  def test_a_piece_is_handed_over_before_the_next_one_is_sent
    feed = Queue.new
    server = lambda do |socket|
      socket.gets("\r\n\r\n")
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      while (text = feed.pop)
        socket.write("#{text.bytesize.to_s(16)}\r\n#{text}\r\n")
      end
      socket.write("0\r\n\r\n")
    end
    served(server) do |host, port|
      seen = []
      feed << "one"
      Hecaton::NetHTTP.start(host, port) do |http|
        http.get("/") do |piece|
          seen << piece.dup
          feed << (seen.size < 3 ? "piece #{seen.size}" : nil)
        end
      end
      assert_equal ["one", "piece 1", "piece 2"], seen
    end
  end

  def test_to_a_destination_and_by_a_block
    same_started { |http| +"before ".tap { |text| http.get("/bytes/5", nil, text) } } unless RUBY_VERSION >= "3.4"
    same_started { |http| http.request_get("/bytes/5") { |response| response.read_body(+"") }.body }
    same_started { |http| http.request_get("/bytes/5") { nil }.body }
    same_started { |http| http.post("/echo", "a=1") { |piece| piece }.then { |response| response.body.class } }
  end

  def test_reading_twice_and_too_late
    same_error { |klass|
      start(klass) { |http| http.request_get("/bytes/5") { |response| 2.times { response.read_body { nil } } } }
    }
    same_error { |klass| start(klass) { |http| http.get("/bytes/5").read_body { nil } } }
    assert_equal 5, start { |http| http.get("/bytes/5") }.read_body.bytesize
  end

  def test_a_block_left_early_leaves_a_usable_object
    start do |http| # Net::HTTP would take the rest of the old body for the next response.
      catch(:enough) { http.request_get("/bytes/1000000") { |response| response.read_body { throw :enough } } }
      assert_equal 3, http.get("/bytes/3").body.bytesize
      http.request_get("/bytes/1000000") { |response| response.read_body { break } }
      assert_equal 3, http.get("/bytes/3").body.bytesize
    end
    same_error { |klass| start(klass) { |http| http.request_get("/bytes/5") { raise KeyError, "the program's own" } } }
  end

  def test_a_hecaton_error_of_the_program_passes_through_its_block
    error = assert_raises(Hecaton::ConnectError) do
      start { |http| http.request_get("/bytes/5") { raise Hecaton::ConnectError, "its own" } }
    end
    assert_equal "its own", error.message
  end

  def test_what_hecaton_reports
    start do |http|
      whole = Hecaton::NetHTTP.outcome(http.get("/bytes/5"))
      assert_equal [:status], whole.attempts.map(&:ending)
      in_pieces = Hecaton::NetHTTP.outcome(http.request_get("/bytes/5") { |response| response.read_body })
      assert_equal [true], in_pieces.attempts.map(&:reused?)
      assert_equal url("/bytes/5"), in_pieces.url
    end
    assert_nil Hecaton::NetHTTP.outcome(start(Net::HTTP) { |http| http.get("/bytes/5") })
  end

  def test_responses_can_be_marshalled
    same_started { |http| Marshal.load(Marshal.dump(http.get("/bytes/5"))).body }
    same_started { |http|
      Marshal.load(Marshal.dump(http.request_get("/bytes/5") { |response| response.read_body })).body
    }
  end

  def test_an_encoding_that_was_set
    skip "this Net::HTTP has no response_body_encoding" unless Net::HTTP.method_defined?(:response_body_encoding=)

    [true, "iso-8859-1", Encoding::UTF_8].each do |encoding|
      same_started do |http|
        http.response_body_encoding = encoding
        http.get("/headers?content-type=text/plain;charset=iso-8859-2").body.encoding
      end
    end
  end

  def test_http2_where_it_is_set
    real_server = TestServer.new("--http2")
    Hecaton::NetHTTP.http = "2"
    response = Hecaton::NetHTTP.get_response(URI("#{real_server.url}/r/1"))
    assert_equal ["2", "200"], [response.http_version, response.code]
    assert_raises(ArgumentError) { Hecaton::NetHTTP.http = "3" }
  ensure
    real_server&.stop
  end
end
