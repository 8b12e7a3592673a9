# Faraday's own middlewares work over it: retry, multipart, redirects, json and the like.
require_relative "faraday_helper"
require "pathname"
require "tmpdir"
require "zlib"
if FaradayTest::TWO
  require "faraday/retry"
  require "faraday/multipart"
else
  require "faraday_middleware"
end

class FaradayMiddlewareTest < FaradayTest
  def file_part(...) = (TWO ? Faraday::Multipart::FilePart : Faraday::FilePart).new(...)

  def test_multipart_is_sent_with_its_length
    path = File.join(Dir.mktmpdir, "a.txt").tap { |name| File.write(name, "content of ä") }
    receiving = server { |request| [200, {}, request.body] }
    conn = connection(receiving.url) { |faraday| faraday.request :multipart }
    body = conn.post("/", name: "x", file: file_part(path, "text/plain")).body
    request = receiving.arrived.first
    assert_match(%r{\Amultipart/form-data; boundary=}, request.headers["content-type"])
    assert_equal [body.bytesize.to_s, nil], request.headers.values_at("content-length", "transfer-encoding")
    assert_includes body.dup.force_encoding("UTF-8"), "content of ä"
    assert_match(/name="file"; filename="a.txt"/, body)
  end

  def test_a_coding_that_is_no_text_is_left_alone
    odd = server {
      [200, { "Content-Encoding" => "gzip\xFF".b, "Content-Type" => "text/plain; charset=\xFF".b }, "text"]
    }
    response = connection(odd.url).get("/")
    assert_equal ["text", "gzip\xFF".b], [response.body, response.headers["content-encoding"].b]
  end

  def test_retry_sends_a_body_again_whole_of_whatever_kind
    [-> { "text" }, -> { StringIO.new("text") }, -> { File.open(file("text"), "rb") }].each do |body|
      replies = [503, 503, 200]
      receiving = server { |request| [replies.shift, {}, request.body] }
      conn = connection(receiving.url) { |faraday|
        faraday.request :retry, max: 2, methods: [:post], retry_statuses: [503]
      }
      assert_equal [200, "text"], conn.post("/", body.call).then { |response| [response.status, response.body] }
      assert_equal %w[text text text], receiving.arrived.map(&:body)
    end
  end

  def test_retry_sends_multipart_again_whole
    replies = [503, 200]
    receiving = server { |request| [replies.shift, {}, request.body] }
    conn = connection(receiving.url) do |faraday|
      faraday.request :multipart
      faraday.request :retry, max: 1, methods: [:post], retry_statuses: [503]
    end
    conn.post("/", file: file_part(StringIO.new("content"), "text/plain", "a.txt"))
    first, second = receiving.arrived
    assert_includes first.body, "content"
    assert_equal first.body, second.body
  end

  def test_retry_after_failures_tries_as_often_as_it_says
    held = server { :hang }
    conn = connection(held.url, request: { timeout: 60, read_timeout: 0.1 }) { |faraday|
      faraday.request :retry, max: 2
    }
    assert_raises(Faraday::TimeoutError) { conn.get("/") }
    wait_until { held.requests.size == 3 }
    assert_raises(Faraday::TimeoutError) { conn.post("/", "x") }
    wait_until { held.requests.size == 4 }
    assert_equal %w[GET GET GET POST], held.arrived.map(&:verb), "a POST is not tried again"
  end

  def test_redirects
    skip "no middleware for redirects is packaged for Faraday 2" if TWO

    landing = server { |request|
      request.path == "/a" ? [302, { "Location" => "/b" }] : [200, {}, "#{request.verb} #{request.body.inspect}"]
    }
    conn = connection(landing.url) { |faraday| faraday.use FaradayMiddleware::FollowRedirects }
    assert_equal "GET \"\"", conn.get("/a").body
    assert_equal "GET \"\"", conn.post("/a", "form").body, "and without a Content-Length of the body that is gone"
    assert_equal "/b", conn.get("/a").env.url.path
    endless = connection { |faraday| faraday.use FaradayMiddleware::FollowRedirects, limit: 2 }
    assert_raises(FaradayMiddleware::RedirectLimitReached) { endless.get("/redirect-loop") }
  end

  def test_json_and_gzip_of_the_middlewares
    speaking = server do |request|
      [200, { "Content-Type" => "application/json", "Content-Encoding" => "gzip" },
       Zlib.gzip(JSON.generate(got: JSON.parse(request.body)))]
    end
    conn = connection(speaking.url) do |faraday|
      faraday.request :json
      faraday.response :json
      faraday.use FaradayMiddleware::Gzip unless TWO
    end
    assert_equal({ "got" => { "a" => [1, "ä"] } }, conn.post("/", a: [1, "ä"]).body)
  end

  def test_bodies_of_other_kinds
    conn = connection
    reader, writer = IO.pipe
    Thread.new { writer.write("from a "); writer.write("pipe"); writer.close }
    path = Pathname(file("from a path"))
    { reader => "from a pipe", path => "from a path",
      %w[from an array] => "fromanarray", path.each_line => "from a path",
      Enumerator.new { |all| all << "from " << "an enumerator" } => "from an enumerator" }.each do |body, text|
      assert_equal text, seen(conn.post("/echo", body))["body"]
    end
    reader, writer = IO.pipe
    writer.write("12345")
    writer.close
    assert_equal ["12345", "5"], seen(conn.put("/echo", reader, "Content-Length" => "5")).then { |reported|
      [reported["body"], reported["headers"]["content-length"]]
    }
    assert_raises(IOError) {
      conn.post("/echo", Enumerator.new { |all| all << "a"; raise IOError, "the disk is gone" })
    }
  end

  def test_a_file_stands_where_it_stood
    File.open(file("0123456789"), "rb") do |io|
      io.pos = 3
      2.times { assert_equal "3456789", seen(connection.post("/echo", io))["body"] }
      assert_equal 3, io.pos
    end
  end

  private

  def file(content)
    Tempfile.new("hecaton").tap { |file| (@files ||= []) << file; file.write(content); file.close }.path
  end
end
