# The request that arrives at the server equals Net::HTTP's, whatever the request is made of.
require_relative "support"
require "stringio"
require "tempfile"

class NetHTTPRequestTest < NetHTTPTest
  def test_verbs_of_an_object
    {
      get: ["/echo"], delete: ["/echo"], options: ["/echo"],
      trace: ["/echo"], copy: ["/echo"], move: ["/echo"], propfind: ["/echo"],
      mkcol: ["/echo"], post: ["/echo", "a=1"],
      put: ["/echo", "text", { "Content-Type" => "text/plain" }], patch: ["/echo", "x=2"],
      proppatch: ["/echo", "<a/>"], lock: ["/echo", "<a/>"], unlock: ["/echo", ""]
    }.each do |verb, arguments|
      reported = same_started { |http| arrived_at(http.public_send(verb, *arguments)) }
      assert_equal verb.to_s.upcase, reported["method"]
    end
  end

  def test_their_sisters
    same_started { |http| arrived_at(http.request_get("/echo?a=1", "X-A" => "b")) }
    same_started { |http| arrived_at(http.get2("/echo")) }
    same_started { |http| arrived_at(http.request_post("/echo", "a=1")) }
    same_started { |http| arrived_at(http.post2("/echo", "a=1")) }
    same_started { |http| arrived_at(http.request_put("/echo", "a", "content-type" => "a/b")) }
    same_started { |http| arrived_at(http.put2("/echo", "a", "content-type" => "a/b")) }
    same_started { |http| arrived_at(http.send_request("QUERY", "/echo", "q", "x-y" => "z", "content-type" => "a/b")) }
    same_started { |http|
      [http.request_head("/echo").body, http.head2("/echo").code, http.head("/r/1")["content-length"]]
    }
  end

  def test_methods_of_the_class
    same { |klass| JSON.parse(klass.get(URI(url("/echo"))))["path"] }
    same { |klass| klass.get(host, "/bytes/7", port).bytesize }
    same { |klass| arrived_at(klass.get_response(URI(url("/echo")), "X-A" => "1")) }
    same { |klass| arrived_at(klass.post(URI(url("/echo")), "data", "content-type" => "a/b")) }
    same { |klass| arrived_at(klass.post_form(URI(url("/echo")), "a" => "b c", "d" => "ä")) }
    printed = same { |klass| capture_io { klass.get_print(URI(url("/bytes/7"))) } }
    assert_equal 7, printed.first.bytesize
  end

  def test_headers_repeats_and_credentials
    reported = same_started do |http|
      request = Net::HTTP::Get.new("/echo?x=%20y")
      request["X-One"] = "1"
      request.add_field("X-Many", "a")
      request.add_field("X-Many", "b")
      request["Host"] = "other.example:81"
      request.basic_auth("user", "pass:word")
      request["Cookie"] = "a=b; c=d"
      arrived_at(http.request(request))
    end
    assert_includes reported["headers"], ["Host", "other.example:81"]
    assert_includes reported["headers"], ["X-Many", "a, b"]
    assert_includes reported["headers"], ["Authorization", "Basic dXNlcjpwYXNzOndvcmQ="]
  end

  def test_a_request_for_a_uri
    same_started do |http|
      request = Net::HTTP::Get.new(URI("http://other.example/echo?a=b"))
      [arrived_at(http.request(request)), request.uri.to_s.sub(port.to_s, "PORT")]
    end
  end

  def test_bodies_of_a_string_a_form_and_none
    requests = {
      form: -> {
        Net::HTTP::Post.new("/echo").tap { |post| post.set_form_data({ "a" => "1", "b" => ["x", "y z"] }, "&") }
      },
      urlencoded: -> { Net::HTTP::Post.new("/echo").tap { |post| post.set_form([%w[a 1], ["b", "ü"]]) } },
      body: -> { Net::HTTP::Put.new("/echo").tap { |put| put.body = "ä".b } },
      empty: -> { Net::HTTP::Post.new("/echo") },
      get: -> { Net::HTTP::Get.new("/echo").tap { |get| get.body = "in a GET" } }
    }
    requests.each_value do |make|
      same_started do |http|
        request = make.call
        [arrived_at(http.request(request)), request["content-length"], request["content-type"]]
      end
    end
  end

  # Net::HTTP of Ruby 3.1 sends Host: ::1:PORT.
  def test_an_ipv6_address_of_a_uri_has_brackets_in_host
    head = nil
    play = lambda do |connection|
      head = connection.gets("\r\n\r\n")
      connection.write(Scripted.response(200))
    end
    Peer.run(play, on: TCPServer.new("::1", 0)) do |peer|
      uri = URI(peer.url)
      Hecaton::NetHTTP.start(uri.hostname, uri.port) { |http| http.request(Net::HTTP::Get.new(uri)) }
      assert_includes head, "Host: [::1]:#{uri.port}\r\n"
    end
  rescue Errno::EADDRNOTAVAIL
    skip "this machine has no IPv6"
  end

  def test_multipart_with_files_in_one_piece_and_in_chunks
    [nil, "chunked"].each do |coding|
      Tempfile.create("upload") do |file|
        file.write("content of a file\r\n" * 3)
        file.flush
        same_started do |http|
          file.rewind
          post = Net::HTTP::Post.new("/echo")
          post["Transfer-Encoding"] = coding if coding
          parts = [%w[a 1], ["file", file, { filename: "name \"x\".txt", content_type: "text/plain" }],
                   ["io", StringIO.new("from memory")]]
          post.set_form(parts, "multipart/form-data", boundary: "BOUNDARY")
          arrived_at(http.request(post))
        end
      end
    end
  end

  def test_names_of_multipart_have_no_line_breaks
    post = Net::HTTP::Post.new("/echo")
    parts = [["a\r\nX-A: b", "1"], ["file", StringIO.new("text"), { filename: "x\"\r\nX-B: c" }]]
    post.set_form(parts, "multipart/form-data")
    body = arrived_at(Hecaton::NetHTTP.start("127.0.0.1", URI(url("/")).port) { |http| http.request(post) })["body"]
    dispositions = body.scan(/^Content-Disposition: (.*)\r$/).flatten
    assert_equal ['form-data; name="a%0D%0AX-A: b"', 'form-data; name="file"; filename="x\\"%0D%0AX-B: c"'],
      dispositions
  end

  def test_line_breaks_in_types_of_multipart_are_refused
    unless Net::HTTPGenericRequest.private_method_defined?(:encode_multipart_form_data)
      skip "this net-http writes forms by another private method"
    end

    forms = { "a/b\r\nX-A: b" => {}, "a/b" => { boundary: "b\r\nX-A: b" } }
    forms.each do |type, options|
      post = Net::HTTP::Post.new("/echo")
      post.set_form([["file", StringIO.new("data"), { filename: "name", content_type: type }]],
        "multipart/form-data", **options)
      sent = requests_of {
        start { |http|
          assert_match(/control character|CR.LF/, assert_raises(ArgumentError) { http.request(post) }.message)
        }
      }
      assert_equal 0, sent
    end
  end

  def test_streams_with_a_length_and_in_chunks
    length = ->(put, size) { put["Content-Length"] = size.to_s }
    chunked = ->(put, _) { put["Transfer-Encoding"] = "chunked" }
    [length, chunked].each do |framing|
      [StringIO.new("x" * 200_000), StringIO.new(""), Class.new(Struct.new(:text)) {
        def readpartial(size, out = nil) = text.slice!(0, size).then { |piece|
          piece.empty? ? raise(EOFError) : (out ? out.replace(piece) : piece)
        }
      }].each do |source|
        sum = same_started do |http|
          io = source.is_a?(StringIO) ? source.tap(&:rewind) : source.new(+"some text")
          put = Net::HTTP::Put.new("/upload")
          put.body_stream = io
          put["Content-Type"] = "text/plain"
          framing.call(put, source.is_a?(StringIO) ? source.size : 9)
          http.request(put).body
        end
        refute_empty sum
      end
    end
  end

  def test_a_pipe_is_sent_as_it_comes
    same_started do |http|
      reader, writer = IO.pipe
      put = Net::HTTP::Put.new("/echo", "Content-Type" => "text/plain", "Transfer-Encoding" => "chunked")
      put.body_stream = reader
      sender = Thread.new { 3.times { |index| writer.write(index.to_s) }; writer.close }
      JSON.parse(http.request(put).body)["body"].tap { sender.join }
    end
  end

  def test_bodies_that_are_not_what_they_say
    same_error { |klass|
      start(klass) { |http|
        http.request(Net::HTTP::Put.new("/echo").tap { |put| put.body_stream = StringIO.new("x") })
      }
    }
    same_error { |klass|
      start(klass) { |http| http.request(Net::HTTP::Put.new("/echo").tap { |put| put.body = "a" }, "b") }
    }
    start do |http|
      put = Net::HTTP::Put.new("/echo", "Content-Length" => "5", "Content-Type" => "a/b")
      put.body_stream = StringIO.new("abc")
      error = assert_raises(IOError) { http.request(put) }
      assert_instance_of Hecaton::BodyError, error.cause
    end
  end

  def test_paths_and_headers_that_cannot_be_sent
    same_error { |klass| start(klass) { |http| http.send_request("GET", "/a\r\nb") } }
    same_error { |klass| start(klass) { |http| http.get("") } }
    refused(/slash/) { start { |http| http.get("http://elsewhere.example/") } }
    refused(/slash/) { start { |http| http.request(Net::HTTP::Options.new("*")) } }
    refused(/NTLM/) { start { |http| http.get("/echo", "Authorization" => "NTLM abc") } }
    refused(/Negotiate/) { start { |http| http.get("/echo", "Authorization" => "Negotiate abc") } }
  end

  def test_expect_waits_only_where_it_was_set
    [nil, 5].each do |seconds|
      start do |http|
        http.continue_timeout = seconds
        put = Net::HTTP::Put.new("/echo", "Expect" => "100-continue", "Content-Type" => "a/b")
        put.body = "body"
        assert_equal "body", JSON.parse(http.request(put).body)["body"]
      end
    end
  end
end
