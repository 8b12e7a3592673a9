# Each setting of Net::HTTP is honoured, or refused by its name.
require_relative "support"

class NetHTTPSettingsTest < NetHTTPTest
  def settings(**options)
    http = Hecaton::NetHTTP.new(host, port, nil)
    options.each { |name, value| http.public_send(:"#{name}=", value) }
    Hecaton::NetHTTP::Settings.of(http)
  end

  # Every writer of Net::HTTP's objects is in this list, so that a new one of a newer Ruby is noticed.
  def test_every_writer_is_known
    known = %i[
      open_timeout= read_timeout= write_timeout= continue_timeout=
      keep_alive_timeout= max_retries= ipaddr= use_ssl= local_host=
      local_port= proxy_from_env= proxy_address= proxy_port= proxy_user=
      proxy_pass= proxy_use_ssl= ignore_eof= close_on_empty_response=
      response_body_encoding= ca_file= ca_path= cert= cert_store=
      ciphers= extra_chain_cert= key= ssl_timeout= ssl_version=
      min_version= max_version= verify_callback= verify_depth= verify_mode= verify_hostname=
    ]
    assert_empty Net::HTTP.public_instance_methods(false).grep(/\w=\z/) - known
  end

  def test_times
    default = settings
    assert_equal [300, 60, 60, 60, nil, 60, 60, 0, 2],
      default.values_at(:timeout, :connect_timeout, :resolve_timeout, :tls_timeout, :send_timeout, :first_byte_timeout,
        :read_timeout, :expect_timeout, :idle_timeout)
    set = settings(open_timeout: 1.5, read_timeout: 2, write_timeout: 3, continue_timeout: 4, keep_alive_timeout: 5)
    assert_equal [1.5, 1.5, 1.5, 3, 2, 2, 4, 5],
      set.values_at(:connect_timeout, :resolve_timeout, :tls_timeout, :send_timeout, :first_byte_timeout, :read_timeout,
        :expect_timeout, :idle_timeout)
    none = settings(open_timeout: nil, read_timeout: nil)
    assert_equal [300, nil, nil, nil],
      none.values_at(:connect_timeout, :resolve_timeout, :first_byte_timeout, :read_timeout)
    assert_equal 300, settings(open_timeout: 0)[:connect_timeout]
  end

  def test_the_total_is_never_shorter_than_what_was_allowed
    assert_equal 60 + 60 + 600, settings(read_timeout: 600)[:timeout]
    assert_equal 7, settings(read_timeout: 600, total_timeout: 7)[:timeout]
    Hecaton::NetHTTP.total_timeout = 9
    assert_equal 9, settings[:timeout]
    [-1, "1", Float::NAN].each do |bad|
      assert_raises(ArgumentError) { Hecaton::NetHTTP.total_timeout = bad }
      assert_raises(ArgumentError) { Hecaton::NetHTTP.new(host).total_timeout = bad }
    end
  end

  def test_repeats_need_a_setting
    assert_nil settings[:retry]
    assert_nil settings[:reconnect]
    assert_equal false, settings(max_retries: 0)[:reconnect]
    assert_equal 3, settings(max_retries: 3)[:retry][:max]
  end

  def test_an_address_of_ones_own
    reported = Hecaton::NetHTTP.start("name.invalid", port, nil, nil, nil, nil, ipaddr: host) do |http|
      assert_equal host, http.ipaddr
      JSON.parse(http.get("/echo").body)
    end
    assert_includes reported["headers"], ["Host", "name.invalid:#{port}"]
  end

  def test_keep_alive_timeout_of_nothing_keeps_nothing
    reused = ->(http) { Array.new(2) { Hecaton::NetHTTP.outcome(http.get("/r/1")).attempts.last.reused? } }
    assert_equal [false, true], start(&reused)
    assert_equal [false, false], start(keep_alive_timeout: 0, &reused)
  end

  def test_ipaddr_may_be_a_name
    request_once = ->(klass, ipaddr) { start(klass, ipaddr: ipaddr) { |http| http.get("/r/1").code } }
    assert_equal "200", same { |klass| request_once.(klass, "localhost") }
    assert_equal "200", same { |klass| request_once.(klass, host) }
    same_error { |klass| request_once.(klass, "name.invalid") }
  end

  def test_the_address_of_this_side
    peers = Thread::Queue.new
    behaviour = lambda do |socket|
      peers << socket.remote_address.ip_address
      socket.gets("\r\n\r\n")
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    end
    served(behaviour) do |address, port|
      %w[127.0.0.2 localhost].each do |local|
        same do |klass|
          klass.new(address, port).tap { |http| http.local_host = local }.get("/")
          peers.pop
        end
      end
    end
  end

  def test_what_cannot_be_had_is_refused_by_name
    refused(/local_port/) { start(local_port: 1) { |http| http.get("/r/1") } }
    {
      ciphers: "HIGH", ssl_timeout: 5, verify_callback: ->(*) { true }, verify_depth: 3,
      ssl_version: :TLSv1_2, max_version: :TLS1_2,
      cert_store: OpenSSL::X509::Store.new, verify_mode: :peer, min_version: :TLS9
    }.each do |name, value|
      refused(/#{name}/) { start(use_ssl: true, name => value) { |http| http.get("/r/1") } }
    end
    start(use_ssl: true, keep_alive_timeout: 0) { |http| refused(/peer_cert.*send a request first/) { http.peer_cert } }
  end

  def test_an_address_or_a_port_that_is_none_is_refused
    [0, -1, 65_536, "x", "", "80;", 80.5, :a].each { |port|
      refused(/the port is #{Regexp.escape(port.inspect)}: give a number/) {
        Hecaton::NetHTTP.new(host, port).get("/?secret")
      }
    }
    [:localhost, URI(real_server.url), 5].each { |address|
      refused(/the address is a #{address.class}: give a String/) { Hecaton::NetHTTP.new(address, port).get("/") }
    }
    same { |klass| klass.new(host, port.to_s).get("/r/1").code }
  end

  def test_tls_settings_do_not_matter_without_tls
    assert_equal "200", start(ciphers: "HIGH", verify_mode: OpenSSL::SSL::VERIFY_NONE) { |http| http.get("/r/1") }.code
  end

  def test_settings_may_change_between_requests
    start do |http|
      http.get("/r/1")
      http.read_timeout = 0.2
      assert_raises(Net::ReadTimeout) { http.get("/delay/60000") }
      http.read_timeout = 60
      assert_equal "200", http.get("/r/1").code
    end
  end

  def test_started_and_finished
    http = Hecaton::NetHTTP.new(host, port)
    refute http.started?
    assert_raises(IOError) { http.finish }
    assert_same http, http.start
    assert http.started? && http.active?
    assert_raises(IOError) { http.start }
    assert_raises(IOError) { http.use_ssl = true }
    assert_raises(IOError) { http.ipaddr = "127.0.0.2" }
    http.finish
    refute http.started?
    assert_equal "200", http.get("/r/1").code
    refute http.started?
    assert_kind_of Net::HTTP, http
    assert_equal "#<Hecaton::NetHTTP #{host}:#{port} open=false>", http.inspect
  end

  def test_debug_output
    output = +""
    http = Hecaton::NetHTTP.new(host, port)
    http.set_debug_output(output)
    http.start { http.post("/echo?a=b", "x=1") }
    assert_includes output, "<- \"POST /echo?a=b HTTP/1.1\\r\\nHost: #{host}:#{port}\\r\\n"
    assert_includes output, "<- \"x=1\"\n"
    assert_includes output, "-> \"HTTP/1.1 200 OK\\r\\n\"\n"
    assert_includes output, "-> \"content-type: application/json\\r\\n\"\n"
    http.start { assert_raises(EOFError) { http.get("/fault/close") } }
    assert_includes output, "Conn close because of error"
  end

  def test_close_on_empty_response
    http = Hecaton::NetHTTP.new(host, port)
    http.close_on_empty_response = true
    http.start { 2.times { http.head("/r/1") } }
    request = Net::HTTP::Head.new("/r/1")
    http.start { http.request(request) }
    assert_equal "close", request["connection"]
  end
end
