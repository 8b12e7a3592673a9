# The same Ruby prints the same with the original Typhoeus and with the drop-in.
require_relative "both"
require "tmpdir"

class TyphoeusParityTest < Minitest::Test
  # The facts of a request that the test server echoes, in a form that two ages and two libraries can share.
  ECHO = <<~'RUBY'
    require "uri"
    def echoed(response)
      echo = JSON.parse(response.body)
      fields = echo["headers"].map { |name, value| [name.downcase, value] }.reject { |name, _| name == "host" }
      fields.each { |field| field[1] = field[1].gsub(/boundary=\S+/, "boundary") }
      [echo["method"], echo["path"], fields.sort, echo["body"].to_s.gsub(/^--+\w+/, "--boundary")]
    end
  RUBY

  CASES = {
    "verbs" => %q{
      p %i[get post put delete options].map { |verb| echoed(Typhoeus.public_send(verb, "#{url}/echo")) }
      response = Typhoeus.head("#{url}/r/1")
      p response.code, response.body, response.headers["content-length"]
      p echoed(Typhoeus::Request.new("#{url}/echo", method: :purge).run),
        echoed(Typhoeus::Request.new("#{url}/echo").run) },
    "bodies" => %q{
      [:post, :put, :patch, :delete, :get].each do |verb|
        ["text", "", { a: 1, b: "x y/ä" }, { a: [1, 2], c: { d: [{ e: 1 }] } }].each do |body|
          next if verb != :post && verb != :put && body == ""
          puts echoed(Typhoeus::Request.new("#{url}/echo", method: verb, body: body).run).inspect
        end
      end
      puts echoed(Typhoeus.post("#{url}/echo", body: "{}", headers: { "content-type" => "application/json" })).inspect
      puts echoed(Typhoeus.post("#{url}/echo", body: { a: "b c" }, escape: false)).inspect
      [[1, "b c"], [%w[a 1], %w[b 2]], [{ a: 1 }], []].each do |list|
        puts echoed(Typhoeus.post("#{url}/echo", body: list)).inspect,
          Typhoeus::Request.new("x", body: list).encoded_body
        puts echoed(Typhoeus.post("#{url}/echo", body: list, params_encoding: :rack)).inspect
      end
      puts echoed(Typhoeus.post("#{url}/echo", body: { a: nil, "b" => true })).inspect
      [:post, :put, :patch].product(["text", { a: 1 }]).each do |verb, body|
        options = { method: verb, body: body, headers: { "Transfer-Encoding" => "chunked" } }
        puts echoed(Typhoeus::Request.new("#{url}/echo", options).run).inspect
        options[:headers] = { "transfer-encoding" => "" }
        puts echoed(Typhoeus::Request.new("#{url}/echo", options).run).inspect
      end },
    "params" => %q{
      nested = { a: [1, "b c"], h: { x: { y: "z&=" } }, n: nil,
        e: "", "ü" => "ß", l: [[1, 2], [3]], hs: [{ k: 1 }, { k: 2 }] }
      [{}, { params_encoding: :rack }, { params_encoding: :multi }, { params_encoding: :none }].each do |options|
        request = Typhoeus::Request.new("#{url}/echo", { params: nested }.merge(options))
        puts request.url.sub(url, ""), echoed(request.run)[1]
      end
      [["/echo", { a: 1 }], ["/echo?", { a: 1 }], ["/echo?b=2", { a: 1 }], ["/echo?b=2", {}], ["/echo?b=2", nil],
       ["/echo?b=2", "c=3 4"], ["/echo", "c=3"]].each do |path, params|
        puts Typhoeus::Request.new("#{url}#{path}", params: params).url.sub(url, "")
      end
      puts Typhoeus::Request.new("x", params: { a: "b c" }, escape: false).url
      p Typhoeus::Request.new("x", body: { a: "b c", d: [1, 2] }).encoded_body, Typhoeus::Request.new("x").encoded_body,
        Typhoeus::Request.new("x", body: "raw text").encoded_body },
    "headers" => %q{
      puts echoed(Typhoeus.get("#{url}/echo", headers: { "X-One" => 1, two_three: :four, "Accept" => "text/x" }))
        .inspect
      puts echoed(Typhoeus.get("#{url}/echo", headers: { "User-Agent" => "me", "accept" => nil })).inspect
      puts echoed(Typhoeus.get("#{url}/echo", headers: { "User-Agent" => "" })).inspect
      Typhoeus::Config.user_agent = "configured"
      puts echoed(Typhoeus.get("#{url}/echo")).inspect
      Typhoeus::Config.user_agent = nil
      puts echoed(Typhoeus.get("#{url}/echo", userpwd: "ada:love:lace")).inspect
      puts echoed(Typhoeus.get("#{url}/echo", username: "ada", password: "x", httpauth: :basic)).inspect
      puts echoed(Typhoeus.get("#{url}/echo", cookie: "a=1; b=2", referer: "http://r/")).inspect
      puts echoed(Typhoeus.get("#{url}/echo", range: "0-9")).inspect,
        Typhoeus.get("#{url}/echo", resume_from: 7).return_code
      puts echoed(Typhoeus.get("#{url}/echo", timecondition: :ifmodsince, timevalue: 1_000_000_000)).inspect
      puts echoed(Typhoeus.get("#{url}/echo", customrequest: "REPORT")).inspect },
    "multipart" => %q{
      path = "#{folder}/some file.txt"
      File.write(path, "line\n")
      puts echoed(Typhoeus.post("#{url}/echo", body: { title: "t", file: File.open(path) }))[3].delete("\r").inspect
      puts echoed(Typhoeus.post("#{url}/echo", body: { a: "1", b: { c: ["x"] } }, multipart: true))[3]
        .delete("\r").inspect, echoed(Typhoeus.post("#{url}/echo", body: {}, multipart: true)).inspect },
    "responses" => %q{
      %w[/r/1 /status/204 /status/304 /status/404 /status/500 /bytes/0].each do |path|
        response = Typhoeus.get("#{url}#{path}")
        p [path, response.code, response.response_code,
          response.return_code, response.return_message, response.success?,
           response.failure?, response.modified?, response.timed_out?,
           response.http_version, response.status_message, response.body.size,
           response.body.encoding, response.response_body == response.body,
           response.mock, response.mock?, response.cached?,
           response.redirect_count, response.redirections, response.effective_url.sub(url, ""), response.primary_ip,
           response.handled_response.equal?(response),
           response.request.base_url.sub(url, ""), response.options[:size_download],
           response.headers.class.name, response.headers["CONTENT-LENGTH"], response.headers_hash["content-length"]]
        p %i[total_time time starttransfer_time start_transfer_time
          appconnect_time app_connect_time pretransfer_time connect_time
             namelookup_time name_lookup_time redirect_time].map { |name| response.public_send(name).class }
        times = [response.pretransfer_time, response.starttransfer_time, response.total_time]
        p times == times.sort, response.options.key?(:return_code), response.options[:response_code]
      end },
    "failures" => %q{
      %w[reset close truncate truncate-chunked garbage stall-head].each do |fault|
        response = Typhoeus.get("#{url}/fault/#{fault}", timeout: fault == "stall-head" ? 1 : 20)
        p [fault, response.return_code, response.return_message, response.success?, response.timed_out?]
      end
      ["http://127.0.0.1:1/", "http://nosuch.invalid/", "http://", "foo://x/", "http://a b/", "http://127.0.0.1:99999/"]
        .each do |bad|
        response = Typhoeus.get(bad, timeout: 20)
        p [bad, response.return_code, response.code, response.effective_url,
          response.headers, response.body, response.success?, response.status_message]
      end
      ["http://nosuch.invalid:3128", "nosuch.invalid", "https://nosuch.invalid"].each do |proxy|
        p [url, "https://127.0.0.1:1/", "http://other.invalid/"].map { |any|
          Typhoeus.get(any, proxy: proxy, timeout: 2).return_code
        }
      end
      p Typhoeus.get("http://other.invalid/", proxy: "nosuch.invalid", noproxy: "other.invalid").return_code
      p Typhoeus.get("http://#x").effective_url },
    "redirects" => %q{
      response = Typhoeus.get("#{url}/redirect/302/2", followlocation: true)
      p response.code, response.redirect_count,
        response.redirections.map { |each| [each.status_message, each.http_version] },
        response.effective_url.sub(url, ""), response.redirect_time > 0
      response = Typhoeus.get("#{url}/redirect/302/2")
      p response.code, response.redirect_count,
        response.headers["location"], response.options[:redirect_url].sub(url, "")
      response = Typhoeus.get("#{url}/redirect/302/5", followlocation: true, maxredirs: 2)
      p response.return_code, response.return_message, response.code, response.redirect_count
      [301, 302, 303, 307].each do |status|
        puts echoed(Typhoeus.post("#{url}/redirect/#{status}/1", body: "b", followlocation: true))[0]
      end },
    "callbacks" => %q{
      request = Typhoeus::Request.new("#{url}/status/500", timeout: 5)
      order = []
      Typhoeus.on_complete { order << :all_complete }
      Typhoeus.on_failure { order << :all_failure }
      Typhoeus.on_success { order << :all_success }
      Typhoeus.on_progress { |*given| order << [:all_progress, given.size] }
      request.on_complete { |response| order << [:complete, response.code]; 1 }
      request.on_success { order << :success }
      request.on_failure { |response| order << :failure; :handled }
      request.on_complete { order << :second }
      p request.run.handled_response, order, request.response.equal?(request.run)
      order.clear
      request = Typhoeus::Request.new("#{url}/r/1")
      request.on_success { |response| order << response.request.equal?(request) }
      p request.run.handled_response, order
      p request.on_complete, Typhoeus.on_complete.size
      [:on_complete, :on_failure, :on_success, :on_progress].each { |name| Typhoeus.public_send(name).clear } },
    "streams" => %q{
      request = Typhoeus::Request.new("#{url}/bytes/100000")
      bytes = 0
      codes = []
      request.on_headers { |response| codes << [:headers, response.class.name] }
      request.on_body { |chunk, response| bytes += chunk.bytesize; nil }
      request.on_complete { |response| codes << [response.code, response.body, response.return_code] }
      p request.streaming?, request.run.code, bytes, codes
      request = Typhoeus::Request.new("#{url}/bytes/1000000")
      count = 0
      request.on_body { count += 1; :abort }
      response = request.run
      p count, response.return_code, response.return_message, response.success?
      [nil, :unyielded, "abort"].each { |value|
        request = Typhoeus::Request.new("#{url}/bytes/1000")
        request.on_body { |bytes| value }
        2.times { |number|
          request.on_body { nil } if number == 1
          p request.run.body.bytesize, request.response.return_code
        }
      }
      request = Typhoeus::Request.new("#{url}/bytes/1000")
      seen = []
      request.on_progress { |*given| seen << given.size }
      p request.run.body.bytesize, seen.last, seen.include?(5) },
    "hydra.add without the network" => %q{
      store = Class.new {
        def get(request)
          Typhoeus::Response.new(code: 200, body: "kept", mock: true) if request.base_url.include?("kept")
        end

        def set(request, response) = nil
      }.new
      Typhoeus::Config.cache = store
      hydra = Typhoeus::Hydra.new(max_concurrency: 2)
      log = []
      make = lambda do |path|
        request = Typhoeus::Request.new("#{url}/#{path}")
        request.on_complete { |response| log << path }
        request
      end
      %w[stored/1 stored/2 r/1 stored/3 r/2].each { |path| hydra.queue(make.call(path)) }
      hydra.add(make.call("kept/0"))
      p log, hydra.queued_requests.size
      hydra.run
      p log.sort, hydra.queued_requests.size # Two are in flight at once, so either may end first.
      many = Typhoeus::Hydra.new
      1000.times { |number| many.queue(make.call("kept/#{number}")) }
      many.run
      Typhoeus::Config.cache = nil
      p log.size
      Typhoeus.stub("#{url}/stubbed").and_return(Typhoeus::Response.new(code: 201))
      hydra.queue(make.call("stubbed"))
      hydra.add(make.call("stubbed"))
      p hydra.queued_requests.size
      hydra.run
      Typhoeus::Expectation.clear
      Typhoeus.before { |request| !request.base_url.include?("stop") }
      hydra.queue(make.call("stop"))
      hydra.queue(make.call("stop"))
      hydra.add(make.call("stop"))
      p hydra.queued_requests.size
      hydra.run
      Typhoeus.before.clear
      p log.size },
    "effective_url" => %q{
      %w[/r/1#b /r/1?a#b /redirect/302/1#b /r/1].each { |path|
        puts Typhoeus.get("#{url}#{path}", followlocation: true).effective_url
      }
      puts Typhoeus.get("#{url}/r/1#b", params: { a: 1 }).effective_url,
        Typhoeus.get("http://127.0.0.1:1/x#y").effective_url
      p Typhoeus::Response.new(effective_url: "http://x/").effective_url, Typhoeus::Response.new.effective_url },
    "hydra" => %q{
      hydra = Typhoeus::Hydra.new(max_concurrency: "3")
      codes = []
      7.times do |number|
        request = Typhoeus::Request.new("#{url}/r/#{number}")
        request.on_complete { |response|
          codes << response.code
          hydra.queue(Typhoeus::Request.new("#{url}/r/9")) if number == 3
        }
        number == 6 ? hydra.queue_front(request) : hydra.queue(request)
      end
      p hydra.queued_requests.size, hydra.queued_requests.first.base_url[/\d\z/], hydra.max_concurrency
      hydra.run
      p codes, hydra.queued_requests, Typhoeus::Hydra.hydra.equal?(Typhoeus::Hydra.hydra)
      hydra.queue(Typhoeus::Request.new("#{url}/r/1"))
      hydra.abort
      p hydra.queued_requests, hydra.run },
    "stubs" => %q{
      response = Typhoeus::Response.new(code: 418, body: "tea",
        headers: { "A" => "b", "C" => ["d", "e"] }, return_code: :ok)
      Typhoeus.stub("http://stub.example/a").and_return(response)
      got = Typhoeus.get("http://stub.example/a")
      p got.code, got.body, got.headers["a"], got.headers, got.mock,
        got.success?, got.failure?, got.response_headers, got.equal?(response)
      Typhoeus.stub(/b\z/, method: :get) { |request| Typhoeus::Response.new(code: 200, body: request.base_url) }
      p Typhoeus.get("http://stub.example/b").body, Typhoeus.get("http://stub.example/b").success?
      expectation = Typhoeus.stub("http://stub.example/c")
        .and_return([Typhoeus::Response.new(code: 1), Typhoeus::Response.new(code: 2)])
      p Array.new(3) { Typhoeus.get("http://stub.example/c").code }
      same = Typhoeus.stub("http://stub.example/c")
      p Typhoeus::Expectation.all.size, same.responses.size, same.from, same.stubbed_from(:me).from
      p Typhoeus::Expectation.find_by(Typhoeus::Request.new("http://stub.example/c")).base_url
      Typhoeus.stub(nil, params: { a: 1 }).and_return(Typhoeus::Response.new(code: 3))
      p Typhoeus.get("http://any.example", params: { a: 1 }).code
      Typhoeus::Expectation.clear
      Typhoeus::Config.block_connection = true
      begin
        Typhoeus.get("#{url}/r/1", params: { q: 2 })
      rescue Typhoeus::Errors::NoStub => error
        puts error.message.sub(url, ""), error.class.superclass
      end
      p Typhoeus.with_connection { Typhoeus.get("#{url}/r/1").code }, Typhoeus::Config.block_connection
      Typhoeus::Config.block_connection = false
      Typhoeus.before { |request|
        request.finish(Typhoeus::Response.new(code: 7)) if request.base_url.end_with?("/seven")
        !request.base_url.end_with?("/seven")
      }
      p Typhoeus.get("http://x.example/seven").code, Typhoeus.get("#{url}/r/1").code
      Typhoeus.before.clear },
    "requests" => %q{
      request = Typhoeus::Request.new("http://x.example/", method: :post, headers: { "A" => "b" }, timeout: 3)
      p request.options, request.original_options, request.base_url,
        request.block_connection, request.hydra, request.response
      p Typhoeus::Request.new("u").options, Typhoeus::Request.new("u", maxredirs: 3).options[:maxredirs]
      replaced = Typhoeus::Request.new("#{url}/echo", timeout: 60)
      replaced.options = { timeout: 50, headers: { "X-A" => "1" } }
      p replaced.run.code, replaced.options, replaced.original_options
      p request.eql?(Typhoeus::Request.new("http://x.example/", method: :post, headers: { "A" => "b" }, timeout: 3))
      p request.eql?(Typhoeus::Request.new("http://x.example/")),
        request.hash == Typhoeus::Request.new("http://x.example/").hash
      p request.hash == Typhoeus::Request.new("http://x.example/",
        timeout: 3, headers: { "A" => "b" }, method: :post).hash
      given = { headers: { "A" => "1" } }
      request = Typhoeus::Request.new("u", given)
      given[:headers]["A"] = "2"
      given[:timeout] = 1
      p request.options
      request.on_complete { }
      copy = Marshal.load(Marshal.dump(request))
      p copy.base_url, copy.options, copy.on_complete },
    "header objects" => %q{
      header = Typhoeus::Response::Header.new("HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\n" \
        "SET-COOKIE: b\r\nX-Long: one\r\n two\r\nEmpty:\r\nset-cookie: c\r\nset-cookie: d\r\n")
      p header, header["set-COOKIE"], header["x-long"], header["empty"], header["none"], header.is_a?(Hash), header.keys
      p Typhoeus::Response::Header.new("a" => "b")["A"], Typhoeus::Response::Header.new("")
      response = Typhoeus::Response.new(response_headers: "HTTP/1.1 301 Moved\r\nLocation: " \
        "/\r\n\r\nHTTP/1.0 404 Not There\r\nA: b\r\n\r\n", return_code: :ok, code: 404)
      p response.headers, response.redirections.map(&:headers),
        response.status_message, response.http_version, response.success?
      p Typhoeus::Response.new.headers, Typhoeus::Response.new.code,
        Typhoeus::Response.new.body, Typhoeus::Response.new(mock: true, code: 200).success?
      p Typhoeus::Response.new(return_code: :operation_timedout).timed_out?,
        Typhoeus::Response.new(return_code: :couldnt_connect).return_message },
    "refused options" => %q{
      [{ nonsense: 1 }, { disable_ssl_peer_verification: true },
        { disable_ssl_host_verification: true }, { proxy_auth_method: :basic },
       { cache_timeout: 1 }, { user_agent: "x" }, { cache_key_basis: 1 }].each do |options|
        begin
          Typhoeus.get("#{url}/r/1", options)
        rescue Ethon::Errors::InvalidOption => error
          puts error.message, error.class, error.class.superclass
        end
        hydra = Typhoeus::Hydra.new
        hydra.queue(Typhoeus::Request.new("#{url}/r/1", options))
        begin
          hydra.run
        rescue Ethon::Errors::EthonError => error
          puts error.class
        end
      end
      begin
        Typhoeus::Hydra.new(nonsense: 1)
      rescue Ethon::Errors::InvalidOption => error
        puts error.message
      end
      $stderr = $stdout
      p Typhoeus.get("#{url}/redirect/302/1", follow_location: true).code },
    "locations" => %q{
      require "socket"
      server = TCPServer.new("127.0.0.1", 0)
      port = server.local_address.ip_port
      Thread.new do
        loop do
          socket = server.accept
          moved = socket.gets("\r\n\r\n").start_with?("GET /from")
          location = "Location: http://user:secret@127.0.0.1:#{port}/to\r\n" if moved
          socket.write("HTTP/1.1 #{moved ? "302 Found" : "200 OK"}\r\n#{location}Content-Length: " \
            "2\r\nConnection: close\r\n\r\nok")
          socket.close
        end
      end
      response = Typhoeus.get("http://127.0.0.1:#{port}/from", followlocation: true)
      p response.return_code, response.code, response.redirect_count
      p Typhoeus.get("http://127.0.0.1:#{port}/to?a=b#part").effective_url.sub(port.to_s, "") },
    "circles" => %q{
      require "socket"
      server = TCPServer.new("127.0.0.1", 0)
      root = "http://127.0.0.1:#{server.local_address.ip_port}"
      asked = 0
      Thread.new do
        loop do
          Thread.new(server.accept) do |socket|
            while (head = socket.gets("\r\n\r\n"))
              moved = head.start_with?("GET /round") || (asked += 1) < 4
              socket.write("HTTP/1.1 " \
                "#{moved ? "302 Found\r\nLocation: #{head[/ (\S+)/, 1]}" : "200 OK"}\r\nContent-Length: 0\r\n\r\n")
            end
          end
        end
      end
      [{}, { maxredirs: 0 }, { maxredirs: 1 }, { maxredirs: 7 }].each do |limit|
        response = Typhoeus.get("#{root}/round", followlocation: true, timeout: 30, **limit)
        p response.return_code, response.code, response.redirect_count
      end
      response = Typhoeus.get("#{root}/ready", followlocation: true, timeout: 30)
      p response.return_code, response.code, response.redirect_count },
    "interim responses" => %q{
      require "socket"
      server = TCPServer.new("127.0.0.1", 0)
      Thread.new do
        loop do
          Thread.new(server.accept) do |socket|
            while (head = socket.gets("\r\n\r\n"))
              socket.write("HTTP/1.1 103 Early Hints\r\nLink: " \
                "<a>\r\n\r\n" * head[/\d+/].to_i + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            end
          end
        end
      end
      [1, 100, 101, 1000].each do |count|
        response = Typhoeus.get("http://127.0.0.1:#{server.local_address.ip_port}/#{count}", timeout: 30)
        p response.return_code, response.code, response.body, response.headers
      end },
    "none at once" => %q{
      hydra = Typhoeus::Hydra.new(max_concurrency: 2)
      ended = 0
      6.times do |number|
        request = Typhoeus::Request.new("#{url}/r/#{number}")
        request.on_complete { ended += 1; hydra.max_concurrency = 0 }
        hydra.queue(request)
      end
      hydra.run
      p ended, hydra.queued_requests.size },
    "coding" => %q{
      ["gzip", "", "br"].product(["gzip", "br", "", "own"], [true, false]).each do |option, header, decoded|
        options = { accept_encoding: option, http_content_decoding: decoded, headers: { "Accept-Encoding" => header } }
        p Typhoeus.get("#{url}/encoded/gzip/300", options).body.bytesize > 299
      end
      p Typhoeus.get("#{url}/encoded/gzip", accept_encoding: "gzip").body ==
        Typhoeus.get("#{url}/encoded/gzip", accept_encoding: "").body
      ["identity", "none", "*", "gzip, identity", "gzip;q=1.0, deflate ; q=0.6,identity;q=0.3"].each { |option|
        p Typhoeus.get("#{url}/encoded/gzip/300", accept_encoding: option).body.bytesize,
          echoed(Typhoeus.get("#{url}/echo", accept_encoding: option))[2].to_h["accept-encoding"]
      }
      p Typhoeus.get("#{url}/encoded/gzip").headers["content-encoding"],
        Typhoeus.get("#{url}/encoded/gzip", headers: { "Accept-Encoding" => "gzip" }).body.byteslice(0, 2).bytes
      p echoed(Typhoeus.get("#{url}/echo"))[2].map(&:first)
      response = Typhoeus.get("#{url}/status/404", failonerror: true)
      p [response.return_code, response.code] },
    "memory" => %q{
      Typhoeus::Config.memoize = true
      hydra = Typhoeus::Hydra.new(max_concurrency: 1)
      seen = []
      3.times { |number|
        request = Typhoeus::Request.new("#{url}/r/5")
        request.on_complete { |response| seen << response.object_id }
        hydra.queue(request)
      }
      hydra.run
      p seen.uniq.size, hydra.memory
      Typhoeus::Config.memoize = nil },
    "cache" => %q{
      store = Class.new {
        def get(request) = (@stored ||= {})[request.cache_key]
        def set(request, response) = (@stored ||= {})[request.cache_key] = Marshal.dump(response)
      }.new
      def store.get(request) = super&.then { |text| Marshal.load(text) }
      first, second, third = Array.new(3) { |number| Typhoeus.get("#{url}/r/8", cache: store, cache_ttl: 5) }
      p first.cached?, second.cached?, second.body == first.body, second.code,
        second.headers == first.headers, third.total_time == first.total_time
      p Typhoeus.get("#{url}/r/8", cache: false).cached?, Typhoeus::Request.new("u", cache_ttl: 5).cache_ttl }
  }.freeze

  # Deliberate differences in the drop-in's output: how the original's becomes that, and why.
  DIFFERENCES = {
    # libcurl has other words for them since 8.10.
    "failures" => ->(text) { text.gsub("Could not", "Couldn't").gsub("resolve hostname", "resolve host name") },
    "header objects" => ->(text) { text.gsub("Could not", "Couldn't") }
  }.freeze

  def test_the_same_output
    Dir.mktmpdir do |folder|
      Both.compare(CASES, url: TestServer.shared.url, folder: folder, prelude: ECHO).each do |name, (original, dropin)|
        expected = DIFFERENCES.fetch(name, ->(text) { text }).call(original)
        assert_equal expected, dropin, "case #{name}"
      end
    end
  end
end
