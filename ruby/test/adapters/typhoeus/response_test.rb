# Responses: what only the drop-in could get wrong.
require_relative "drop_in"
require "malformed"
require "scripted"
require "tmpdir"

class TyphoeusResponseTest < DropInTest
  def test_it_can_be_marshalled_whole
    response = request("/redirect/302/1", followlocation: true, headers: { "A" => "b" }) { "handled" }.run
    copy = Marshal.load(Marshal.dump(response))
    assert_equal response.options.reject { |name, _| name == :debug_info },
      copy.options.reject { |name, _| name == :debug_info }
    assert_equal [200, "handled", response.headers, 1],
      [copy.code, copy.handled_response, copy.headers, copy.redirections.size]
    assert_equal response.request.options, copy.request.options
    assert_equal :couldnt_connect,
      Marshal.load(Marshal.dump(Typhoeus.get("http://127.0.0.1:1/", timeout: 5))).return_code
  end

  # By class, phase and reason.
  RETURN_CODES = {
    ["TLSError", :tls, :certificate_expired] => :peer_failed_verification,
    ["TLSError", :tls, :certificate_not_yet_valid] => :peer_failed_verification,
    ["TLSError", :tls, :certificate_untrusted] => :peer_failed_verification,
    ["TLSError", :tls, :certificate_wrong_host] => :peer_failed_verification,
    ["TLSError", :tls, :certificate_revoked] => :peer_failed_verification,
    ["TLSError", :tls, :certificate_not_pinned] => :peer_failed_verification,
    ["TLSError", :tls, :certificate_invalid] => :peer_failed_verification,
    ["TLSError", :tls, :certificate_missing] => :peer_failed_verification,
    ["TLSError", :tls, :client_certificate_refused] => :ssl_connect_error,
    ["TLSError", :tls, :handshake_refused] => :ssl_connect_error,
    ["TLSError", :tls, nil] => :ssl_connect_error,
    ["TLSError", :connect, :certificate_expired] => :ssl_connect_error, # That of a proxy.
    ["ConnectError", :tls, nil] => :ssl_connect_error,
    ["ConnectError", :connect, :proxy_refused] => :recv_error,
    ["ResolveError", :resolve, :proxy_unresolved] => :couldnt_resolve_proxy,
    ["ProtocolError", :send, :connection_closed] => :send_error,
    ["ProtocolError", :first_byte, :connection_closed] => :got_nothing,
    ["ProtocolError", :first_byte, :response_malformed] => :unsupported_protocol,
    ["ProtocolError", :first_byte, :head_too_large] => :got_nothing,
    ["BodyError", :send, nil] => :read_error,
    ["BodyError", :read, :body_too_large] => :filesize_exceeded,
    ["BodyError", :read, :body_undecodable] => :bad_content_encoding,
    ["BodyError", :read, :body_malformed] => :recv_error,
    ["BodyError", :read, :body_cut_short] => :partial_file,
    ["BodyError", :read, :buffers_full] => :partial_file,
    ["BodyError", :read, nil] => :partial_file,
    ["RedirectError", :read, :location_invalid] => :url_malformat,
    ["RedirectError", :read, :scheme_unsupported] => :unsupported_protocol,
    ["RedirectError", :read, :too_many_redirects] => :too_many_redirects,
    ["RedirectError", :read, :redirect_forbidden] => :too_many_redirects,
    ["RedirectError", :read, nil] => :too_many_redirects,
    ["URLError", :queue, :scheme_unsupported] => :unsupported_protocol,
    ["URLError", :queue, nil] => :url_malformat
  }.freeze
  private_constant :RETURN_CODES

  def test_each_reason_has_its_return_code
    codes = RETURN_CODES.keys.to_h do |name, phase, reason|
      error = Hecaton.const_get(name).new("what came is not read", phase: phase, reason: reason)
      [[name, phase, reason], Hecaton::Typhoeus::ReturnCodes.of(error)]
    end
    assert_equal RETURN_CODES, codes
  end

  def test_names_of_headers_look_as_servers_write_them
    reply = Scripted.response(200,
      { "etag" => "1", "X-REQUEST-id" => "2", "set-cookie" => %w[a=1 b=2], "www-authenticate" => "Basic x" })
    Scripted.run("/" => reply) do |server|
      headers = Typhoeus.get(server.url, timeout: 5).headers
      assert_equal %w[ETag X-Request-Id Set-Cookie WWW-Authenticate Content-Length], headers.keys
      assert_equal %w[a=1 b=2], headers["SET-COOKIE"]
    end
  end

  def test_what_a_401_offers
    fields = { "www-authenticate" => ["Basic realm=\"x\", Digest realm=\"y\", nonce=\"1\"", "Negotiate"] }
    Scripted.run("/" => Scripted.response(401, fields)) do |server|
      assert_equal 1 + 2 + 4, Typhoeus.get(server.url, timeout: 5).httpauth_avail
    end
  end

  def test_a_failure_in_the_middle_of_a_body_keeps_what_came
    request = request("/fault/truncate")
    request.on_progress {}
    response = request.run
    assert_equal [:partial_file, 200], [response.return_code, response.code]
    assert_operator response.body.bytesize, :>, 0
  end

  # Resets a connection in the middle of a body, as soon as the test has its beginning.
  class Resets < Scripted
    private

    def serve(connection)
      connection.gets("\r\n\r\n")
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart")
      @responses.pop
      connection.setsockopt(Socket::Option.linger(true, 0))
    ensure
      connection.close
    end
  end

  def test_a_connection_that_is_reset_in_the_middle_of_a_body_has_libcurls_code
    Resets.run(begun = Queue.new) do |server|
      request = Typhoeus::Request.new(server.url, timeout: 20)
      request.on_body { begun << true }
      assert_equal [:recv_error, 200], [request.run.return_code, request.response.code]
    end
  end

  def test_malformed_responses_that_libcurl_reads
    Malformed::READ.each do |what, reply|
      Scripted.run("/" => reply.b) do |server|
        response = Typhoeus.get(server.url, timeout: 5)
        assert_equal [:ok, 200, "ok"], [response.return_code, response.code, response.body], what
      end
    end
    Malformed::REFUSED.each do |what, reply|
      Scripted.run("/" => reply.b) { |server| refute_equal :ok, Typhoeus.get(server.url, timeout: 5).return_code, what }
    end
  end

  def test_a_login_in_a_location_is_dropped
    replies = { "/" => ->(_) { Scripted.response(302, "Location" => "#{@site.sub("//", "//u:p@")}/b") },
                "/b" => Scripted.response(200) }
    Scripted.run(replies) do |server|
      @site = server.url
      response = Typhoeus.get("#{server.url}/", timeout: 5, followlocation: true)
      assert_equal [:ok, 200, "#{server.url}/b"], [response.return_code, response.code, response.effective_url]
      assert_empty server.requests.grep(/^authorization/i)
    end
  end

  def test_the_address_of_this_side
    loopback = Socket.getifaddrs.find { |each| each.addr&.ipv4_loopback? }.name
    { "127.0.0.2" => "127.0.0.2", "host!127.0.0.3" => "127.0.0.3",
      loopback => "127.0.0.1", "if!#{loopback}" => "127.0.0.1" }.each do |given, used|
      response = request("/r/1", interface: given).run
      assert_equal [200, used], [response.code, response.local_ip], given
    end
    refused(Ethon::Errors::InvalidValue, /neither an address/) { request("/r/1", interface: "no such interface").run }
  end

  # In a cookie file a tab separates the fields.
  def test_a_cookie_with_a_tab_is_in_no_file
    cookies = ["a=1\tTRUE\t2; Path=/x", "b=2", "c=caf\xE9", "d=4; Path=/\t/"].map(&:b)
    Scripted.run("/" => Scripted.response(200, "Set-Cookie" => cookies)) do |server|
      Dir.mktmpdir do |folder|
        2.times { Typhoeus.get(server.url, timeout: 5, cookiefile: "#{folder}/jar", cookiejar: "#{folder}/jar") }
        lines = File.binread("#{folder}/jar").lines(chomp: true).grep(/^127/)
        assert_equal [%w[b 2], ["c", "caf\xE9".b]], lines.map { |line| line.split("\t").drop(5) }
        assert(lines.all? { |line| line.count("\t") == 6 })
        assert_match(/^cookie: b=2; c=caf\xE9\r$/in, server.requests.last.b)
      end
    end
  end

  def test_sizes
    response = request("/echo", method: :post, body: "12345").run
    assert_equal [5.0, response.body.bytesize.to_f], [response.size_upload, response.size_download]
    assert_operator response.speed_download, :>, 0
  end

  def test_the_body_is_bytes_whatever_the_charset
    Scripted.run("/" => Scripted.response(200, { "Content-Type" => "text/plain; charset=utf-8" }, "ä")) do |server|
      body = Typhoeus.get(server.url, timeout: 5).body
      assert_equal [Encoding::BINARY, 2], [body.encoding, body.size]
    end
  end

  def test_verbose_prints_heads_and_keeps_them
    response = nil
    printed, = capture_io { response = request("/r/1", verbose: true, headers: { "X-A" => "b" }).run }
    assert_match(/^> GET http.*^> X-A: b$.*^< HTTP\/1.1 200 OK$/m, printed)
    assert_includes response.debug_info.header_in.first, "HTTP/1.1 200 OK"
    assert_empty request("/r/1").run.debug_info.to_a
  end

  def test_fields_that_are_no_text
    Scripted.run("/" => Scripted.response(401,
      { "WWW-Authenticate" => ["\xFF".b, "Basic realm=\"\xFF\"".b], "Location" => "\xFF".b })) do |server|
      response = Typhoeus.get(server.url, timeout: 20)
      assert_equal [401, 1, nil], [response.code, response.httpauth_avail, response.redirect_url]
      assert_equal 401, Marshal.load(Marshal.dump(response)).code
    end
  end

  def test_names_of_classes
    assert_equal %w[Typhoeus::Response Typhoeus::Request Typhoeus::Hydra],
      [Typhoeus::Response, Typhoeus::Request, Typhoeus::Hydra].map(&:name)
  end

  # The codes that the other ages' Ethon and libcurl have, but for those that Ethon 0.16 had shifted by one.
  def test_texts_of_return_codes
    require "open3"
    known, = Open3.capture2(RbConfig.ruby, "-e",
      "require 'ethon'; Ethon::Curl.easy_codes.each { |s| puts %(\#{s}\\t\#{Ethon::Curl.easy_strerror(s)}) }")
    codes = known.lines(chomp: true).to_h { |line| line.split("\t") }
    sure = %w[ok unsupported_protocol url_malformat couldnt_resolve_host
              couldnt_connect partial_file write_error operation_timedout
              ssl_connect_error too_many_redirects got_nothing send_error recv_error aborted_by_callback]
    sure.each do |code|
      expected = codes.fetch(code).sub("Could not", "Couldn't").sub("resolve hostname", "resolve host name")
      assert_equal expected, Typhoeus::Response.new(return_code: code.to_sym).return_message
    end
    assert_nil Typhoeus::Response.new(return_code: :nonsense).return_message
  end

  def test_events
    seen = []
    subscription = Hecaton.subscribe("request.hecaton") { |event|
      seen << event.payload.values_at("http.request.method", "http.response.status_code")
    }
    hydra = Typhoeus::Hydra.new
    hydra.queue(request("/r/1"))
    hydra.run
    request("/status/404", method: :post).run
    assert_equal [["GET", 200], ["POST", 404]], seen
  ensure
    subscription&.unsubscribe
  end
end
