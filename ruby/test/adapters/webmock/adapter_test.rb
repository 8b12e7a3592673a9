# WebMock stubs Hecaton: single requests, streams and batches, with every option that its stubs have.
require "test_helper"
require "webmock/minitest"
require "scripted"
require "rack"
require "tempfile"
require "zlib"

class AdapterTest < ServerTest
  SITE = "http://site.test".freeze

  def setup
    super
    WebMock.enable!
    WebMock.disable_net_connect!(allow_localhost: true)
  end

  def teardown
    super
    WebMock.reset_callbacks
  end

  def site(path = "/") = "#{SITE}#{path}"

  # The outcomes of one request that is sent in each possible way.
  def ways(verb, url, **options)
    whole = begin
      client.public_send(verb, url, **options)
    rescue Hecaton::Error => error
      error
    end
    read = begin
      client.public_send(verb, url, **options) { |stream| [stream.status, stream.each_chunk.to_a.join] }
    rescue Hecaton::Error => error
      error
    end
    [whole, read, batched(verb, url, **options)]
  end

  def batched(verb, url, **options)
    outcome = nil
    client.batch { |batch| batch.public_send(verb, url, **options).on_complete { |ended| outcome = ended } }
    outcome
  end

  def test_a_stub_responds_in_all_ways
    stub_request(:post, site("/a")).to_return(status: [201, "Created"], body: "made",
      headers: { "X-A" => %w[1 2], content_type: "text/plain; charset=utf-8" })
    whole, read, batched = ways(:post, site("/a"), body: "x")
    assert_equal whole, batched
    assert_equal [201, "made", Encoding::UTF_8, %w[1 2], site("/a"), "POST"],
      [whole.status, whole.body, whole.body.encoding, whole.headers.get_all("x-a"), whole.url, whole.http_method]
    assert_equal [201, "made"], read
    assert_requested :post, site("/a"), body: "x", times: 3
    assert_not_requested :get, site("/a")
  end

  def test_a_status_may_be_a_string
    stub_request(:get, site).to_return(status: "404")
    stub_request(:get, site("/2")).to_return(status: ["503", "Busy"])
    assert_equal [404, 404, 404], ways(:get, site).map { |outcome|
      outcome.is_a?(Array) ? outcome.first : outcome.status
    }
    assert_equal 503, client.get(site("/2")).status
    stub_request(:get, site("/3")).to_return(status: "soon")
    assert_match(/stub.*status "soon".*give an Integer/, error_of(ArgumentError) { client.get(site("/3")) }.message)
  end

  def test_bodies_headers_queries_and_credentials_are_matched
    stub_request(:any, site("/json"))
      .with(body: { a: { b: 1 } }, headers: { "Content-Type" => "application/json" }).to_return(body: "json")
    stub_request(:any, site("/form")).with(body: { a: "1", b: %w[2 3] }).to_return(body: "form")
    stub_request(:any, site("/text")).with(body: /ex/, headers: { "X-A" => "1" }).to_return(body: "text")
    stub_request(:any, site("/query")).with(query: hash_including(a: "b c")).to_return(body: "query")
    stub_request(:any, site("/login")).with(basic_auth: %w[user pass]).to_return(body: "login")
    stub_request(:any, site("/agent"))
      .with { |request| request.headers["User-Agent"].start_with?("hecaton/") }.to_return(body: "agent")
    bodies = [
      client.post(site("/json"), json: { a: { b: 1 } }), client.post(site("/form"), form: { a: 1, "b[]": [2, 3] }),
      client.put(site("/text"), body: StringIO.new("text"), headers: { x_a: 1 }),
      client.get(site("/query"), params: { z: 1, a: "b c" }),
      client.get(site("/login"), basic_auth: %w[user pass]), client.get("http://user:pass@site.test/login"),
      Hecaton::Client.new(timeout: 20, base_url: site("/x/"), headers: { "X-A" => "1" }).patch("/text", body: "text"),
      client.delete(site("/agent"))
    ].map(&:body)
    assert_equal %w[json form text query login login text agent], bodies
    assert_raises(WebMock::NetConnectNotAllowedError) { client.post(site("/json"), json: { a: 2 }) }
    assert_requested(:post, site("/form"), body: "a=1&b%5B%5D=2&b%5B%5D=3")
  end

  def test_multipart_bodies_and_files
    seen = nil
    stub_request(:post, site("/upload")).with { |request| seen = request.body }
    Tempfile.create("upload") do |file|
      file.write("of the file")
      file.flush
      client.post(site("/upload"), multipart: { name: "Ada", file: File.open(file.path) })
    end
    assert_match(/name="name"\r\n\r\nAda\r\n.*name="file"; filename="upload.*of the file/m, seen)
  end

  def test_responses_in_turn_by_blocks_from_files_and_raw
    stub_request(:get, site("/turn")).to_return({ body: "1" }, { body: "2" })
      .then.to_timeout.then.to_return(status: 404)
    assert_equal %w[1 2], Array.new(2) { client.get(site("/turn")).body }
    assert_raises(Hecaton::TimeoutError) { client.get(site("/turn")) }
    assert_equal [404, 404], client.get_all([site("/turn")] * 2).map(&:status)
    stub_request(:get, site("/block?a=b")).to_return { |request| { body: request.uri.query_values["a"] } }
    assert_equal "b", client.get(site("/block"), params: { a: "b" }).body
    Tempfile.create("raw") do |file|
      file.write("HTTP/1.1 203 Fine\r\nX-Raw: 1\r\nContent-Length: 4\r\n\r\nbody")
      file.flush
      stub_request(:get, site("/raw")).to_return(File.new(file.path))
      stub_request(:get, site("/file")).to_return(body: File.new(__FILE__))
      raw = client.get(site("/raw"))
      assert_equal [203, "1", "body"], [raw.status, raw.headers["x-raw"], raw.body]
      assert_equal File.binread(__FILE__), client.get(site("/file")).body
    end
  end

  def test_a_rack_application
    app = ->(env) { [202, { "X-Path" => env["PATH_INFO"] }, ["by ", env["REQUEST_METHOD"], env["rack.input"].read]] }
    stub_request(:any, /rack\.test/).to_rack(app)
    response = client.post("http://rack.test/path", body: " it")
    assert_equal [202, "/path", "by POST it"], [response.status, response.headers["x-path"], response.body]
  end

  def test_timeouts_and_exceptions_are_those_of_a_real_request
    stub_request(:get, site("/timeout")).to_timeout
    kinds = { Errno::ECONNREFUSED => Hecaton::ConnectError,
              SocketError => Hecaton::ResolveError, Errno::ECONNRESET => Hecaton::ProtocolError,
              EOFError => Hecaton::ProtocolError, Net::OpenTimeout => Hecaton::TimeoutError,
              Net::ReadTimeout => Hecaton::TimeoutError,
              Timeout::Error => Hecaton::TimeoutError,
              OpenSSL::SSL::SSLError => Hecaton::TLSError, Hecaton::BodyError => Hecaton::BodyError,
              Hecaton::ConnectError.new("mine") => Hecaton::ConnectError }
    kinds.each_with_index { |(raised, _), index| stub_request(:get, site("/#{index}")).to_raise(raised) }
    assert_equal [[Hecaton::TimeoutError, :total]] * 3,
      ways(:get, site("/timeout")).map { |error| [error.class, error.phase] }
    kinds.each_with_index do |(raised, expected), index|
      errors = ways(:get, site("/#{index}"))
      assert_equal [expected] * 3, errors.map(&:class), raised.inspect
      cause = errors.first.cause
      assert_kind_of raised, cause if raised.is_a?(Class) && !(raised <= Hecaton::Error)
    end
    assert_equal "mine", ways(:get, site("/9")).last.message
  end

  # As after a real end of the connection.
  def test_a_request_whose_connection_is_reset_is_re_sent_once
    stub = stub_request(:get, site).to_raise(Errno::ECONNRESET).then.to_return(body: "there")
    assert_equal "there", client.get(site).body
    assert_requested stub, times: 2
    stub = stub_request(:post, site).to_raise(Errno::ECONNRESET).then.to_return(body: "there")
    assert_raises(Hecaton::ProtocolError) { client.post(site) }
    assert_requested stub, times: 1
  end

  def test_other_exceptions_are_raised_as_they_are
    stub_request(:get, site).to_raise(ArgumentError.new("of the stub"))
    assert_equal "of the stub", assert_raises(ArgumentError) { client.get(site) }.message
    requests = []
    assert_raises(ArgumentError) { client.batch { |batch| requests = Array.new(2) { batch.get(site) } } }
    assert_equal [Hecaton::CancelledError] * 2, requests.map { |request| request.outcome.class }
  end

  def test_real_requests
    WebMock.allow_net_connect!
    sent = requests_of do
      %w[/r/1 /r/2].each do |path|
        assert_equal [200] * 3, ways(:get, url(path)).map { |outcome|
          outcome.is_a?(Array) ? outcome.first : outcome.status
        }
        WebMock.disable_net_connect!(allow: "127.0.0.1:#{URI(url(path)).port}")
        assert_requested :get, url(path), times: 3
      end
    end
    assert_equal 6, sent
    WebMock.disable_net_connect!
    error = assert_raises(WebMock::NetConnectNotAllowedError) { client.get(url("/r/1"), headers: { "X-A" => "1" }) }
    assert_match(%r{Unregistered request: GET #{url("/r/1")} with headers .*'X-A'=>'1'}, error.message)
    assert_raises(WebMock::NetConnectNotAllowedError) { client.get(url("/r/1")) { flunk } }
    assert_raises(WebMock::NetConnectNotAllowedError) { client.get_all([url("/r/1")]) }
  end

  def test_callbacks_receive_stubbed_and_real_responses
    reported = []
    real = []
    WebMock.after_request { |request, response|
      reported << [request.method, request.uri.path, response.status, response.body]
    }
    WebMock.after_request(real_requests_only: true) { |request, response|
      real << [request.uri.path, response.headers["Content-Length"]]
    }
    WebMock.after_request(except: [:hecaton]) { flunk }
    stub_request(:get, site("/s")).to_return(status: [200, "Fine"], body: "stubbed")
    ways(:get, site("/s"))
    ways(:get, url("/bytes/3"))
    client.batch { |batch| batch.get(url("/pieces/2/10/0")).on_body { |piece| piece } }
    assert_raises(Hecaton::BodyError) { client.get(url("/fault/truncate")) }
    body = reported[3].last
    assert_equal [[:get, "/s", [200, "Fine"], "stubbed"]] * 3 + [[:get, "/bytes/3", [200, "OK"], body]] * 3,
      reported.first(6)
    assert_equal [3, 20, 7], [body.bytesize, reported.last.last.bytesize, reported.size]
    assert_equal ["/bytes/3", "3"], real.first
    assert_equal 4, real.size
  end

  def test_parts_of_a_stubbed_body
    stub_request(:get, site).to_return(body: "body", headers: { "X" => "1" })
    reported = []
    client.batch { |batch|
      batch.get(site).on_headers { |head| reported << head.headers["x"] }.on_body { |piece|
        reported << piece
      }.on_complete { |outcome| reported << outcome.body }
    }
    assert_equal ["1", "body", ""], reported
  end

  def test_coded_bodies_are_decoded_as_those_of_a_server
    stub_request(:get, site).to_return(body: Zlib.gzip("plain"), headers: { "Content-Encoding" => "gzip" })
    assert_equal "plain", client.get(site).body
  end

  def test_redirects_of_a_real_server_lead_to_stubs_or_nowhere
    away = real_server.url.sub("127.0.0.1", "localhost")
    Scripted.run("/" => Scripted.response(302, "Location" => "#{away}/r/1"),
      "/stub" => Scripted.response(302, "Location" => site("/there"))) do |server|
      WebMock.disable_net_connect!(allow: server.url.delete_prefix("http://"))
      stub_request(:get, site("/there")).to_return(body: "there")
      assert_equal "there", client(redirects: 1).get("#{server.url}/stub").body
      [-> { client(redirects: 1).get(server.url) }, -> { client(redirects: 1).get_all([server.url]) },
       -> { client(redirects: 1).get(server.url) { flunk } }].each do |request_once|
        assert_match(/GET #{away}/, assert_raises(WebMock::NetConnectNotAllowedError, &request_once).message)
      end
      assert_requested :get, "#{server.url}/", times: 3
    end
  end

  def test_enable_and_disable
    stub_request(:get, url("/r/1")).to_return(status: 299)
    assert_equal 299, client.get(url("/r/1")).status
    WebMock.disable!
    refute Hecaton::Interception.active?
    assert_equal 200, client.get(url("/r/1")).status
    WebMock.disable!(except: [:hecaton])
    assert_equal 299, client.get(url("/r/1")).status
    WebMock.enable!(except: [:hecaton])
    assert_equal 200, client.get(url("/r/1")).status
    WebMock.enable!
    assert_equal 299, client.get(url("/r/1")).status
    assert_equal 200, Hecaton::Interception.bypass(:webmock) { client.get(url("/r/1")).status }
    assert_equal 299, Hecaton::Interception.bypass(:other) { client.get(url("/r/1")).status }
  end

  def test_redirects_retries_and_cookies_of_a_client_work_on_stubs
    stub_request(:post, site("/login"))
      .to_return(status: 303, headers: { "Location" => "/home", "Set-Cookie" => "id=7" })
    stub_request(:get, site("/home")).with(headers: { "Cookie" => "id=7" })
      .to_return({ status: 503 }, { body: "welcome" })
    own = client(redirects: 2, cookies: true, retry: { statuses: [503] })
    response = own.post(site("/login"), form: { name: "Ada" })
    assert_equal ["welcome", site("/home"), [site("/login")], [303, 503, 200]],
      [response.body, response.url, response.redirects.map(&:url), response.attempts.map(&:status)]
    assert_requested :get, site("/home"), times: 2
  end
end
