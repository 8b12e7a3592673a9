# Hecaton::Persistent does what Net::HTTP::Persistent does, over one pool.
require_relative "support"
require "net/http/persistent"

class PersistentTest < NetHTTPTest
  PAIR = [Net::HTTP::Persistent, Hecaton::Persistent].freeze
  NEWER = Gem::Version.new(Net::HTTP::Persistent::VERSION) >= Gem::Version.new("4")

  # The block's value must be equal for one of each; returns it.
  def same_of_both(**options)
    real, ours = PAIR.map do |klass|
      http = klass.new(name: "test", **options)
      yield http, klass
    ensure
      http&.shutdown
    end
    real.nil? ? assert_nil(ours) : assert_equal(real, ours)
    ours
  end

  def persistent(**options)
    http = Hecaton::Persistent.new(**options)
    http.idle_timeout = 60 # Longer than a busy machine may need between two requests.
    yield http
  ensure
    http&.shutdown
  end

  # A response, with Connection and Keep-Alive, which both say.
  def reported(response) = JSON.parse(response.body).then { |reported|
    [reported["method"], reported["path"], reported["body"], reported["headers"].map { |name, value|
      [name.downcase, value]
    }.sort]
  }

  def reused?(response) = Hecaton::NetHTTP.outcome(response).attempts.last.reused?

  def test_requests
    uri = URI(url("/echo?a=b"))
    same_of_both { |http| reported(http.request(uri)) }
    same_of_both { |http| reported(http.request(uri.to_s)) }
    same_of_both { |http| reported(http.request(uri, Net::HTTP::Delete.new("/echo"))) }
    same_of_both { |http|
      reported(http.request(uri, Net::HTTP::Post.new(uri.path).tap { |post| post.set_form_data("a" => "1") }))
    }
    same_of_both { |http| http.request(uri + "/bytes/10") { |response| response.read_body { |piece| piece } }.code }
  end

  def test_headers
    same_of_both do |http|
      http.headers["X-Added"] = "1"
      http.headers["User-Agent"] = "added"
      http.override_headers["Accept"] = "a/b"
      http.keep_alive = 7
      reported(http.request(URI(url("/echo"))))
    end
  end

  def test_a_connection_that_is_refused_is_an_error_before_any_request
    uri = URI("http://127.0.0.1:#{closed_port}/")
    same_of_both { |http, klass|
      assert_raises(klass::Error) { http.connection_for(uri) { flunk "the block was called" } }.message[/\A.*:/]
    }
    same_of_both { |http, klass| assert_raises(klass::Error) { http.request(uri) }.message[/\A.*:/] }
  end

  def test_what_is_no_url_of_http_is_refused_in_a_sentence
    persistent do |http|
      ["ftp://127.0.0.1/a", "mailto:a@b.test", "/a", "a.test/b", "ws://127.0.0.1/"].each do |uri|
        [-> { http.request(URI(uri)) }, -> { http.request(uri, Net::HTTP::Get.new("/")) },
         -> { http.connection_for(uri) { flunk } }].each do |request_once|
          assert_includes refused(/give an http or https URL/, &request_once).message, uri.inspect
        end
      end
      refused(/http:.*no host/) { http.request(URI("http:/a")) }
      refused(/is a String: give a Net::HTTP request/) { http.request(url("/r/1"), "/r/1") }
    end
  end

  # None of the original's methods is missing; methods that take a connection apart are refused.
  def test_what_belongs_to_connections_is_refused
    missing = Net::HTTP::Persistent.public_instance_methods(false) - Hecaton::Persistent.public_instance_methods
    assert_empty missing
    persistent do |http|
      %i[pool timeout_key finish reset start ssl expired? error_message].each do |name|
        refused(/\A#{Regexp.escape(name)} cannot be honoured: /) { http.public_send(name) }
        refused(/\A#{Regexp.escape(name)} cannot be honoured: /) { http.public_send(name, Object.new) }
      end
      assert_equal [true, false], [Net::HTTP::Put, Net::HTTP::Post].map { |kind| http.idempotent?(kind.new("/")) }
      [[nil, false], [1, true]].each do |retries, expected|
        http.max_retries = retries if retries
        assert_equal [expected, false], [Net::HTTP::Put, Net::HTTP::Post].map { |kind| http.can_retry?(kind.new("/")) }
      end
      http.retry_change_requests = true
      assert http.can_retry?(Net::HTTP::Post.new("/"))
    end
  end

  def test_facts_and_defaults
    same_of_both do |http, klass|
      [http.name, http.idle_timeout, http.open_timeout,
       http.read_timeout, http.write_timeout, http.keep_alive, http.headers,
       http.override_headers, http.verify_mode, http.proxy_uri, http.no_proxy, http.debug_output, http.socket_options,
       http.max_requests, http.generation, http.reuse_ssl_sessions, klass::DEFAULT_POOL_SIZE]
    end
    same_of_both { |http|
      [http.http_version(URI(url("/"))), http.request(URI(url("/r/1"))).code, http.http_version(URI(url("/")))]
    }
    setters = Net::HTTP::Persistent.public_instance_methods(false).grep(/\w=\z/)
    assert_empty setters - Hecaton::Persistent.public_instance_methods
  end

  def test_connections_are_reused_and_shared_by_threads
    persistent do |http|
      uri = URI(url("/r/1"))
      refute reused?(http.request(uri))
      assert reused?(http.request(uri))
      assert Thread.new { reused?(http.request(uri)) }.value
      http.reconnect
      refute reused?(http.request(uri))
      http.shutdown
      refute reused?(http.request(uri))
      http.idle_timeout = 0
      2.times { refute reused?(http.request(uri)) }
      http.idle_timeout = nil
      http.request(uri)
      assert reused?(http.request(uri))
    end
  end

  def test_a_time_that_is_set_again_keeps_the_connections
    persistent do |http|
      uri = URI(url("/r/1"))
      request = lambda do
        http.open_timeout = http.read_timeout = http.write_timeout = 25
        http.idle_timeout, http.total_timeout = 20, 30
        http.request(uri)
      end
      refute reused?(request.call)
      assert reused?(request.call)
      http.read_timeout = 26
      refute reused?(http.request(uri))
    end
  end

  def test_objects_have_pools_of_their_own
    persistent do |one|
      persistent do |other|
        one.request(URI(url("/r/1")))
        refute reused?(other.request(URI(url("/r/1"))))
      end
    end
  end

  def test_pool_size
    real_server = TestServer.new
    persistent(pool_size: 2) do |http|
      uri = URI("#{real_server.url}/delay/20")
      assert_equal ["200"], Array.new(8) { Thread.new { http.request(uri).code } }.map(&:value).uniq
      assert_operator real_server.ledger["connections"], :<=, 3
    end
    assert_raises(ArgumentError) { Hecaton::Persistent.new(pool_size: 0) }
  ensure
    real_server&.stop
  end

  def test_connection_for
    same_of_both { |http|
      http.connection_for(URI(url("/"))) { |connection|
        [connection.http.started?, connection.http.get("/bytes/3").body.bytesize]
      }
    }
  end

  def test_refused_connections
    socket = TCPServer.new("127.0.0.1", 0)
    port = socket.local_address.ip_port
    socket.close
    persistent do |http|
      error = assert_raises(Hecaton::Persistent::Error) { http.request("http://127.0.0.1:#{port}/") }
      assert_equal "connection refused: 127.0.0.1:#{port}", error.message
      assert_instance_of Errno::ECONNREFUSED, error.cause
      assert_instance_of Hecaton::ConnectError, error.cause.cause
    end
  end

  def test_errors_are_those_of_version_4
    expected = { "/fault/close" => EOFError,
                 "/fault/stall-head" => Net::ReadTimeout, "/fault/garbage" => Net::HTTPBadResponse }
    expected.each do |path, klass|
      (NEWER ? PAIR : [Hecaton::Persistent]).each do |each|
        http = each.new(name: "errors")
        http.read_timeout = klass == Net::ReadTimeout ? 0.3 : 20
        assert_raises(klass) {
          http.request(URI(url(path)), Net::HTTP::Post.new(path).tap { |post|
            post.body = "x"; post["Content-Type"] = "a/b"
          })
        }
        http.shutdown
      end
    end
  end

  # A test server of its own: the shared one counts what others gave up on when it notices that.
  def alone
    real_server = TestServer.new
    yield "#{real_server.url}/fault/close", -> { real_server.arrived }
  ensure
    real_server&.stop
  end

  def test_a_request_is_sent_as_often_as_max_retries_says_and_otherwise_once_more
    counts = [nil, ->(http) { http.max_retries = 2 }, ->(http) { http.max_retries = 0 }].map do |set|
      persistent do |http|
        set&.call(http)
        alone do |url, arrived|
          assert_raises(EOFError) { http.request(URI(url)) }
          arrived.()
        end
      end
    end
    assert_equal [2, 3, 1], counts
    assert_raises(ArgumentError) { persistent { |http| http.max_retries = -1 } }
  end

  def test_changes_may_be_sent_again_for_who_says_so
    persistent do |http|
      http.retry_change_requests = true
      post = Net::HTTP::Post.new("/fault/close")
      post.body = ""
      alone do |url, arrived|
        assert_raises(EOFError) { http.request(URI(url), post) }
        assert_equal 2, arrived.()
      end
    end
  end

  def test_what_cannot_be_had_is_refused
    {
      max_requests: 5, reuse_ssl_sessions: false
    }.each { |name, value|
      persistent { |http| http.public_send(:"#{name}=", value); refused(/#{name}/) { http.request(URI(url("/r/1"))) } }
    }
    persistent { |http| http.socket_options << [1, 2, 3]; refused(/socket_options/) { http.request(URI(url("/r/1"))) } }
    persistent { |http| refused(/pipeline/) { http.pipeline(URI(url("/")), []) } }
    persistent { |http| http.ciphers = "HIGH"; refused(/ciphers/) { http.request(URI("https://127.0.0.1:1/")) } }
    persistent { |http| http.ciphers = "HIGH"; assert_equal "200", http.request(URI(url("/r/1"))).code }
  end

  def test_tls
    Dir.mktmpdir do |folder|
      real_server = TestServer.new("--tls", "--tls-ca-out", "#{folder}/ca.pem")
      uri = URI("#{real_server.url}/r/1")
      assert_raises(OpenSSL::SSL::SSLError) { persistent { |http| http.request(uri) } }
      settings = [
        ->(http) { http.ca_file = "#{folder}/ca.pem" }, ->(http) { http.verify_mode = OpenSSL::SSL::VERIFY_NONE },
        ->(http) { http.cert_store = OpenSSL::X509::Store.new.tap { |store| store.add_file("#{folder}/ca.pem") } }
      ]
      settings.each { |set| assert_equal "200", same_of_both { |http| set.call(http); http.request(uri).code } }
    ensure
      real_server&.stop
    end
  end

  def test_proxies
    Scripted.run(Hash.new(Scripted.response(200, {}, "by the proxy"))) do |server|
      proxy = URI(server.url)
      proxy.user, proxy.password = "user", "p%3As"
      proxy.query = "no_proxy=127.0.0.1,.local"
      same_of_both(proxy: proxy) do |http|
        [http.request("http://target.invalid/x").body, http.request(url("/bytes/3")).body.bytesize, http.no_proxy,
         http.proxy_bypass?("a.local", 80), http.proxy_bypass?("b.example", 80)]
      end
      seen = server.requests.map { |head| [head.lines.first, head[/^proxy-authorization: .*$/i]&.downcase] }
      assert_equal 1, seen.uniq.size, seen.inspect
      assert_raises(ArgumentError) { Hecaton::Persistent.new(proxy: "http://string") }
    end
  end

  def test_proxies_of_the_environment
    before = ENV.slice("http_proxy", "no_proxy")
    ENV.update("http_proxy" => "proxy.invalid:81", "no_proxy" => "a.example,b.example")
    same_of_both(proxy: :ENV) { |http| [http.proxy_uri.host, http.proxy_uri.port, http.no_proxy] }
    ENV["no_proxy"] = "*"
    same_of_both(proxy: :ENV) { |http| http.proxy_uri }
  ensure
    %w[http_proxy no_proxy].each { |name| ENV[name] = before[name] }
  end

  def test_the_total_holds
    persistent do |http|
      http.total_timeout = 0.4
      assert_raises(Net::ReadTimeout) { http.request(URI(url("/fault/drip"))) }
    end
  end

  def test_a_body_that_is_cut_short
    persistent do |http|
      assert_raises(EOFError) { http.request(URI(url("/fault/truncate"))) }
      http.ignore_eof = true
      assert_equal 500, http.request(URI(url("/fault/truncate"))).body.bytesize
    end
  end

  def test_debug_output
    persistent do |http|
      http.debug_output = output = +""
      http.request(URI(url("/r/1")))
      assert_match(%r{<- "GET /r/1 }, output)
    end
  end

  def test_a_child_of_fork
    persistent do |http|
      http.request(URI(url("/r/1")))
      reader, writer = IO.pipe
      pid = fork { writer.write(reused?(http.request(URI(url("/r/1"))))); exit! }
      writer.close
      assert_equal "false", reader.read
      Process.wait(pid)
      assert reused?(http.request(URI(url("/r/1"))))
    end
  end

  def test_the_constant_is_replaced_and_restored
    original = Net::HTTP::Persistent
    Hecaton::Persistent.replace!
    Hecaton::Persistent.replace!
    assert_same Hecaton::Persistent, Net::HTTP::Persistent
    require "net/http/persistent"
    assert_equal "200", Net::HTTP::Persistent.new(name: "x").request(URI(url("/r/1"))).code
    Hecaton::Persistent.restore!
    Hecaton::Persistent.restore!
    assert_same original, Net::HTTP::Persistent
  ensure
    Hecaton::Persistent.restore!
  end

  def test_the_idle_timeout_of_a_server
    Scripted.run("/" => Scripted.response(200)) { |server|
      assert_equal 0, Hecaton::Persistent.detect_idle_timeout(server.url, 0)
    }
    assert_nil Hecaton::Persistent.detect_idle_timeout(url("/"), 0) # 404
  end
end
