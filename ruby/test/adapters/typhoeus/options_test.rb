# Options: what each comes to on the wire, and which are refused, with which words.
require_relative "drop_in"
require "scripted"
require "open3"
require "stringio"
require "tmpdir"

class TyphoeusOptionsTest < DropInTest
  REFUSED = Hecaton::Typhoeus::Refusals::REASONS

  # Setting of a client → libcurl's option for it.
  LIBCURLS = {
    timeout: :timeout, connect_timeout: :connecttimeout, resolve: :resolve, allow_address: :ipresolve,
    unix_socket: :unix_socket_path, local_address: :interface, proxy: :proxy, no_proxy: :noproxy,
    read_timeout: :low_speed_time, max_idle: :maxconnects, redirects: :maxredirs, redirects_to_http: :redir_protocols,
    cookies: :cookiefile, http: :http_version, ca: :cainfo, crl: :crlfile, client_cert: :sslcert, client_key: :sslkey,
    tls_min: :sslversion, pins: :pinnedpublickey, verify: :ssl_verifypeer, verify_hostname: :ssl_verifyhost,
    max_body: :maxfilesize, decode: :accept_encoding, decode_always: :accept_encoding,
    user_agent: :useragent, client_key_password: :keypasswd,
    headers: :headers, basic_auth: :userpwd, digest_auth: :httpauth
  }.freeze
  # Settings that no option of libcurl's in Ethon stands for.
  OWN = %i[
    resolve_timeout tls_timeout send_timeout first_byte_timeout expect_timeout queue_timeout per_origin max_connections
    max_queue retry reconnect redirect_hosts idle_timeout
    max_age max_buffered max_header_fields max_header_bytes lenient
    concurrency raise_for_status on_deprecation app_name app_env public_headers base_url strict_urls bearer features
    logger
  ].freeze

  # What the engine has, no sentence may deny. A new setting needs an entry in one of the two lists.
  def test_no_option_is_refused_that_the_engine_has
    assert_equal Hecaton::Settings::NAMES.sort, (LIBCURLS.keys + OWN).sort
    assert_empty LIBCURLS.values - Hecaton::Typhoeus::Plan::TAKERS.keys
    assert_empty LIBCURLS.values & REFUSED.keys
  end

  def echo(**options)
    JSON.parse(request("/echo", **options).run.body).tap { |seen|
      seen["headers"].each { |field| field[0] = field[0].downcase }
    }
  end

  def field(name, **options) = echo(**options)["headers"].select { |other, _| other.casecmp?(name) }.map(&:last)

  def response(path = "/r/1", **options) = request(path, **options).run

  def test_what_cannot_be_honoured_says_why
    REFUSED.each_key do |name|
      error = refused { response("/r/1", name => 1) }
      assert_match(/\AThe option: #{name} is invalid\.\nHecaton cannot honour #{name}: \w.*\.\z/, error.message)
    end
    refute_includes REFUSED, :timeout
  end

  def test_a_body_that_is_none_is_refused_by_its_name
    refused(Ethon::Errors::InvalidValue, /for option: body\.\nHecaton cannot send it: body is Integer/) {
      response("/echo", method: :post, body: 5)
    }
    assert_equal "", echo(method: :post, body: false)["body"]
  end

  # libcurl takes X-Functions-Key along.
  def test_keys_do_not_follow_a_redirect_to_another_host
    Scripted.run("/" => Scripted.response(302,
      "Location" => "#{real_server.url.sub("127.0.0.1", "localhost")}/echo")) do |server|
      own = { "X-Functions-Key" => "k", "X-Any" => "1", "Range" => "bytes=0-" }
      sent = JSON.parse(Typhoeus.get(server.url, headers: own, followlocation: true, timeout: 20).body)["headers"]
        .to_h.transform_keys(&:downcase)
      assert_equal [nil, nil, "bytes=0-"], sent.values_at("x-functions-key", "x-any", "range")
      refused(Ethon::Errors::InvalidValue) {
        Typhoeus.get(server.url, followlocation: true, unrestricted_auth: true, timeout: 20)
      }
    end
  end

  # libcurl lets the header go first and resumes from nowhere.
  def test_resume_from_beside_a_range_is_refused
    [{ range: "0-3" }, { headers: { "Range" => "bytes=0-3" } }, { headers: { range: "bytes=0-3" } }].each do |other|
      error = refused(Ethon::Errors::InvalidValue, /resume_from/) { response("/bytes/10", resume_from: 5, **other) }
      assert_match(/beside a Range/, error.message)
    end
    Scripted.run("/" => Scripted.response(206, {}, "x")) do |server|
      assert_equal [206, :ok], Typhoeus.get(server.url, resume_from: 5, timeout: 20).then { |reply|
        [reply.code, reply.return_code]
      }
      assert_match(/^range: bytes=5-\r$/i, server.requests.first)
    end
    assert_equal ["bytes=0-3"], field("range", resume_from: 0, range: "0-3")
  end

  # As libcurl has it.
  def test_headers_go_before_options_of_the_same_meaning
    headers = { "Cookie" => "a=1", "referer" => "http://a.test/", "Range" => "bytes=0-1" }
    sent = echo(cookie: "b=2", referer: "http://b.test/", range: "3-4", headers: headers)["headers"].to_h
    assert_equal headers.values, sent.values_at("cookie", "referer", "range")
    assert_equal ["b=2"], field("cookie", cookie: "b=2")
    assert_equal 1, field("cookie", cookie: "b=2", headers: { "cookie" => "a=1" }).size
  end

  def test_on_body_is_not_called_for_a_body_that_is_not_needed
    { "/status/404" => { failonerror: true }, "/redirect/302/1" => { followlocation: true, maxredirs: 0 } }
      .each do |path, options|
      received = []
      request = request(path, **options)
      request.on_headers { |response| received << response.code }
      request.on_body { |bytes| received << bytes }
      response = request.run
      assert_equal [[response.code], ""], [received, response.body]
      assert_includes %i[http_returned_error too_many_redirects], response.return_code
    end
  end

  def test_headers_that_are_none_are_refused
    ["X-A: 1", 5, ["X-A: 1"]].each { |headers|
      refused(Ethon::Errors::InvalidValue, /for option: headers\.\nGive a Hash/) {
        request("/echo", headers: headers).run
      }
    }
  end

  # One after the other, for the last ones are remembered.
  def test_headers_that_are_equal_and_not_the_same
    assert_equal [["1"], ["1.0"], ["1"]], [1, 1.0, 1].map { |value| field("X-A", headers: { "X-A" => value }) }
  end

  def test_a_redirect_to_another_scheme_is_no_matter_of_how_many
    Scripted.run("/" => Scripted.response(302, { "Location" => "ftp://127.0.0.1/x" }),
      "/two" => Scripted.response(302, { "Location" => "/" })) do |server|
      ["/", "/two"].each do |path|
        reply = Typhoeus.get("#{server.url}#{path}", followlocation: true, timeout: 20)
        assert_equal [302, :unsupported_protocol], [reply.code, reply.return_code]
      end
    end
  end

  def test_a_body_in_chunks_is_repeated_after_a_redirect_that_keeps_the_method
    [307, 308].product([:post, :put], ["text", { a: 1 }]).each do |status, method, body|
      request = request("/redirect/#{status}/2?to=/echo", method: method, body: body, followlocation: true,
        headers: { "Transfer-Encoding" => "chunked" })
      echo = JSON.parse(request.run.body)
      fields = echo["headers"].to_h.transform_keys(&:downcase)
      assert_equal [method.to_s.upcase, body == "text" ? "text" : "a=1", "chunked", nil],
        [echo["method"], echo["body"], *fields.values_at("transfer-encoding", "content-length")]
    end
  end

  # As libcurl has it: no redirect is one too many.
  def test_maxredirs_0_is_too_many_at_once
    [nil, :on_body].each do |listening|
      request = request("/redirect/302/1", followlocation: true, maxredirs: 0)
      request.public_send(listening) { nil } if listening
      response = request.run
      assert_equal [302, :too_many_redirects, 0, ""],
        [response.code, response.return_code, response.redirect_count, response.body]
    end
    assert_equal [200, :ok], response("/r/1", followlocation: true, maxredirs: 0).then { |good|
      [good.code, good.return_code]
    }
  end

  def test_nothing_of_ethon_is_unknown
    known = [*REFUSED.keys, *Hecaton::Typhoeus::Plan::TAKERS.keys,
             *Hecaton::Typhoeus::EasyFactory::RENAMED_OPTIONS.keys]
    names, = Open3.capture2(RbConfig.ruby, "-e", "require 'ethon'; puts Ethon::Curl.easy_options(nil).keys")
    assert_operator names.lines.size, :>, 200
    assert_empty names.split.map(&:to_sym) - known
  end

  def test_values_that_cannot_be_honoured
    {
      { httpauth: :ntlm, userpwd: "a:b" } => /say :basic or :digest/,
      { http_version: :httpv1_0 } => /HTTP\/1.1 and HTTP\/2/,
      { sslversion: :sslv3 } => /TLS 1.2 and 1.3/, { sslcerttype: "DER" } => /PEM/,
      { pinnedpublickey: "/a/file" } => /sha256/, { proxyauth: :digest, proxy: "http://p:1" } => /Basic alone/,
      { httpproxytunnel: true } => /tunnel for https/, { netrc: :required } => /leave the option out/,
      { autoreferer: true } => /leave the option out/,
      { accept_encoding: "compress" } => /decodes/, { resolve: ["nonsense"] } => /Array of Strings/,
      { low_speed_limit: 1000, low_speed_time: 5 } => /low_speed_limit: 1\b/,
      { timeout: -1 } => /at least 0/, { timeout: "5" } => /at least 0/,
      { proxytype: :nonsense } => /There are :http/,
      { protocols: [:ftp] } => /http and https/, { tcp_nodelay: false } => /always does it/,
      { headers: { "A" => "b\r\nC: d" } } => /cannot send it/, { postredir: :post_all } => /becomes a GET/
    }.each do |options, words|
      refused(Ethon::Errors::InvalidValue, words) { response("/r/1", **options) }
    end
  end

  def test_nil_sets_nothing_but_its_name_counts
    assert_equal 200, response("/r/1", proxy_cainfo: nil, cainfo: nil).code
    refused { response("/r/1", nonsense: nil) }
  end

  def test_digest
    challenge = { "WWW-Authenticate" => 'Digest realm="r", nonce="n", qop="auth", algorithm=MD5' }
    Scripted.run("/d" => Scripted.response(401, challenge)) do |server|
      assert_equal 401, Typhoeus.get("#{server.url}/d", userpwd: "me:secret", httpauth: :digest, timeout: 5).code
      heads = server.requests
      refute_match(/^authorization/i, heads.first)
      assert_match(/^authorization: digest .*username="me"/i, heads[1])
      hydra = Typhoeus::Hydra.new
      hydra.queue(Typhoeus::Request.new("#{server.url}/d", userpwd: "me:secret", httpauth: :digest, timeout: 5))
      hydra.run
      assert_match(/^authorization: digest .*username="me"/i, server.requests.last)
    end
  end

  def test_what_there_is_nothing_to_do_for
    nothing = { nosignal: true, buffersize: 1000, dns_cache_timeout: 5,
                pipewait: true, netrc: :ignored, autoreferer: false, tcp_nodelay: true,
                ssl_sessionid_cache: true, httpproxytunnel: false,
                postredir: 0, timeout_ms: nil, sslcert: nil, proxy: nil }
    assert_equal 200, response("/r/1", **nothing).code
  end

  def test_time_limits
    assert_equal :operation_timedout, response("/delay/5000", timeout: 0.2).return_code
    assert_equal :operation_timedout, response("/delay/5000", timeout: nil, timeout_ms: 200).return_code
    assert_equal :operation_timedout, response("/fault/stall-head", low_speed_limit: 1, low_speed_time: 0.2).return_code
    assert_equal 200, response("/r/1", timeout: 0, connecttimeout: 0, connecttimeout_ms: 30_000).code
    Typhoeus::Config.timeout = 0.2
    assert_equal :operation_timedout, Typhoeus.get(url("/delay/5000")).return_code
  end

  def test_a_request_without_timeout_is_warned_of_once
    warnings = [1, 2].map do
      code = "require 'hecaton/typhoeus'; 2.times { Typhoeus.get(#{url("/r/1").inspect}) }; " \
             "h = Typhoeus::Hydra.new; h.queue(Typhoeus::Request.new(#{url("/r/1").inspect})); h.run"
      Open3.capture3(RbConfig.ruby, "-I#{File.expand_path("../../../lib", __dir__)}", "-e", code)[1]
    end
    assert_match(/\Ahecaton\/typhoeus: a request without timeout ends after 300 s here; .*\n\z/, warnings.first)
    assert_equal 1, warnings.last.lines.size
  end

  def test_methods
    assert_equal %w[PUT REPORT GET POST PUT], [
      echo(upload: true, body: "x"), echo(customrequest: "REPORT"),
      echo(httpget: true), echo(post: true), echo(put: true)
    ].map { |echo| echo["method"] }
    assert_equal "", response("/echo", nobody: true).body
  end

  def test_bodies_that_are_read_while_they_are_sent
    assert_equal "from an IO", echo(method: :put, set_read_callback: StringIO.new("from an IO"))["body"]
    assert_equal "posted", echo(method: :post, body: StringIO.new("posted"))["body"]
  end

  def test_headers_that_are_repeated_or_left_out
    assert_equal %w[1 2], field("X-A", headers: { "X-A" => [1, 2] })
    assert_empty field("Content-Type", method: :post, body: "x", headers: { "Content-Type" => "" })
    assert_equal ["u"], field("User-Agent", useragent: "u")
  end

  def test_a_url_may_be_short_of_this_and_that
    short = url("/echo").delete_prefix("http://")
    assert_equal 200, Typhoeus.get(short, timeout: 5).code
    assert_equal "/echo", JSON.parse(Typhoeus.get(url("/a/../b/./../echo"), timeout: 5).body)["path"]
    assert_equal 404, Typhoeus.get(url("/a/../echo"), timeout: 5, path_as_is: true).code
    port = short[/:(\d+)/, 1].to_i
    assert_equal 200, Typhoeus.get("http://127.0.0.1:1/echo", port: port, timeout: 5).code
  end

  def test_protocols
    assert_equal :unsupported_protocol, response("/r/1", protocols: [:https]).return_code
    assert_equal 200, response("/r/1", protocols: %i[http https], redir_protocols: %i[http https]).code
    hydra = Typhoeus::Hydra.new
    code = nil
    hydra.queue(request("/r/1", protocols: [:https]) { |response| code = response.return_code })
    hydra.run
    assert_equal :unsupported_protocol, code
  end

  def test_names_and_sockets
    assert_equal 200, Typhoeus.get("http://name.example:#{URI(url("/")).port}/r/1", timeout: 5,
      resolve: ["name.example:#{URI(url("/")).port}:127.0.0.1"]).code
    assert_equal :couldnt_connect, response("/r/1", ipresolve: :v6).return_code
    Dir.mktmpdir do |folder|
      with_real_server("--unix", "#{folder}/socket") {
        assert_equal 200, Typhoeus.get("http://h.example/r/1", unix_socket_path: "#{folder}/socket", timeout: 5).code
      }
    end
  end

  def test_connections_are_reused_unless_forbidden
    with_real_server do |real_server|
      3.times { Typhoeus.get("#{real_server.url}/r/1", timeout: 5, connecttimeout: 4) }
      assert_equal 1 + 1, real_server.ledger.fetch("connections")
      2.times { Typhoeus.get("#{real_server.url}/r/1", timeout: 5, forbid_reuse: true) }
      assert_equal 1 + 1 + 2, real_server.ledger.fetch("connections")
    end
  end

  def test_the_clients_that_are_held_are_few
    clients = Hecaton::Typhoeus::Clients
    first = clients.for({ connect_timeout: 1 })
    assert_same first, clients.for({ connect_timeout: 1 })
    (2..clients::MOST + 2).each { |number| clients.for({ connect_timeout: number }) }
    refute_same first, clients.for({ connect_timeout: 1 })
    assert_equal clients::MOST, clients.size
  end

  def test_sizes
    assert_equal :filesize_exceeded, response("/bytes/1000", maxfilesize: 10).return_code
    assert_equal 70_000_000, response("/bytes/70000000").body.bytesize
  end

  def test_proxies
    Scripted.run("http://far.example/x" => Scripted.response(200, {}, "by proxy")) do |proxy|
      address = proxy.url.delete_prefix("http://")
      [{ proxy: proxy.url }, { proxy: address }, { proxy: "127.0.0.1", proxyport: address[/\d+\z/].to_i },
       { proxy: address, proxytype: :http, proxyuserpwd: "us er:p@ss", proxyauth: :any }].each do |options|
        assert_equal "by proxy", Typhoeus.get("http://far.example/x", timeout: 5, **options).body
      end
      heads = proxy.requests
      assert_match(/\AGET http:\/\/far.example\/x HTTP/, heads.first)
      assert_includes heads.last.downcase, "proxy-authorization: basic #{["us er:p@ss"].pack("m0")}".downcase
      Typhoeus::Config.proxy = proxy.url
      assert_equal "by proxy", Typhoeus.get("http://far.example/x", timeout: 5).body
      assert_equal 200, Typhoeus.get(url("/r/1"), timeout: 5, proxy: "").code
      assert_equal 200, Typhoeus.get(url("/r/1"), timeout: 5, noproxy: "127.0.0.1").code
    end
  end

  def test_cookies
    Dir.mktmpdir do |folder|
      jar = "#{folder}/jar"
      response("/cookies/set?a=1&b=2", cookiefile: jar, cookiejar: jar)
      assert_match(/\t(a)\t1$/, File.read(jar))
      assert_equal 0o600, File.stat(jar).mode & 0o777
      sent = JSON.parse(response("/cookies", cookiefile: jar).body).to_s
      assert_match(/a.*1/, sent)
      assert_match(/b.*2/, sent)
      refute_match(/a.*1/, JSON.parse(response("/cookies", cookiefile: jar, cookiesession: true).body).to_s)
      assert_equal ["c=3"], field("Cookie", cookielist: "Set-Cookie: c=3")
      # Nobody else reuses it.
      assert_empty field("Cookie", cookiefile: "")
    end
  end

  # One translation serves them all.
  def test_requests_of_equal_options_share_nothing_that_a_program_may_change
    given = { timeout: 20, headers: { "X-A" => +"1" } }
    equal = -> { Typhoeus::Request.new(url("/echo"), { timeout: 20, headers: { "X-A" => "1" } }) }
    sent = ->(request) {
      JSON.parse(request.run.body)["headers"].to_h.transform_keys(&:downcase).values_at("x-a", "x-b")
    }
    assert_equal ["1", nil], sent.call(Typhoeus::Request.new(url("/echo"), given))
    given[:headers]["X-A"] << "2"
    assert_equal ["1", nil], sent.call(equal.call)
    changed = equal.call
    changed.options[:headers]["X-A"] << "3"
    changed.options[:headers]["X-B"] = "4"
    assert_equal [%w[13 4], ["1", nil]], [sent.call(changed), sent.call(equal.call)]
  end

  def test_kinds_of_requests_take_turns
    hydra = Typhoeus::Hydra.new(max_concurrency: 3)
    seen = Array.new(12) do |number|
      options = { headers: ({ "X-A" => (number % 6).to_s } if number % 6 > 0), timeout: (30 if number.even?) }.compact
      request = Typhoeus::Request.new(url("/echo"), options)
      hydra.queue(request)
      request
    end
    hydra.run
    numbers = seen.map { |request|
      JSON.parse(request.response.body)["headers"].to_h.transform_keys(&:downcase)["x-a"].to_i
    }
    assert_equal [*0..5] * 2, numbers
  end

  Counting = Struct.new(:count) do
    def before_request(_request) = (self.count += 1) && nil
  end

  def test_features_hold_for_options_that_were_used_before
    feature = Counting.new(0)
    2.times { response(connecttimeout: 7) }
    Typhoeus::Config.features = [feature]
    2.times { response(connecttimeout: 7) }
    hydra = Typhoeus::Hydra.new
    hydra.queue(request("/r/1", connecttimeout: 7))
    hydra.run
    assert_equal 3, feature.count
  ensure
    Typhoeus::Config.features = nil
  end

  def test_the_same_options_again_and_again_are_looked_at_anew
    options = { method: :get, timeout: 5, headers: { "X-A" => +"1" } }
    hydra = Typhoeus::Hydra.new
    seen = []
    3.times do |number|
      options[:headers]["X-A"].replace(number.to_s) if number.positive?
      hydra.queue(request("/echo", **options) { |response|
        seen << JSON.parse(response.body)["headers"].to_h.transform_keys(&:downcase)["x-a"]
      })
      hydra.run
    end
    assert_equal %w[1 1 2], seen
  end
end
