# The server of an attempt, from Ruby: the ends of an attempt's connection, and the facts of its TLS handshake.
require "test_helper"
require "scripted"
require "openssl"
require "tmpdir"

class WhoAnsweredTest < ServerTest
  # A test server with TLS, and a client that trusts it.
  def with_tls(*options)
    Dir.mktmpdir do |folder|
      ca = "#{folder}/ca.pem"
      secure = TestServer.new("--tls", "--tls-ca-out", ca, *options)
      yield secure, client(ca: ca)
    ensure
      secure&.stop
    end
  end

  def test_a_response_names_both_ends
    client = client()
    first, second = Array.new(2) { client.get(url("/r/1")).attempts.last }
    uri = URI(real_server.url)
    assert_equal Hecaton::Endpoint.new(address: uri.host, port: uri.port), first.peer
    assert_equal "#{uri.host}:#{uri.port}", first.peer.to_s
    assert_equal ["127.0.0.1", true], [first.local.address, first.local.port.positive?]
    assert_equal [true, first.peer, first.local, nil], [second.reused?, second.peer, second.local, second.tls]
  end

  def test_errors_streams_batches_and_parts_name_the_peer
    port = URI(real_server.url).port
    error = error_of(Hecaton::ProtocolError) { client.get(url("/fault/close")) }
    assert_equal port, error.attempts.last.peer.port
    client.get(url("/bytes/5")) { |stream| assert_equal port, stream.attempts.last.peer.port }
    seen = []
    client.batch do |batch|
      batch.get(url("/r/1")).on_complete { |outcome| seen << outcome.attempts.last.peer.port }
      batch.get(url("/bytes/5")).on_headers { |head| seen << head.attempts.last.peer.port }
    end
    assert_equal [port, port], seen
  end

  def test_nobody_responded
    server = TCPServer.new("127.0.0.1", 0)
    port = server.addr[1]
    server.close
    error = error_of(Hecaton::ConnectError) { client.get("http://127.0.0.1:#{port}/") }
    assert_equal [nil, nil, nil], error.attempts.last.to_h.values_at(:peer, :local, :tls)
  end

  def test_a_unix_socket_is_its_path
    Dir.mktmpdir do |folder|
      local = TestServer.new("--unix", path = "#{folder}/own.sock")
      attempt = client(unix_socket: path).get("http://any.example/r/1").attempts.last
      assert_equal [Hecaton::Endpoint.new(address: path), path, nil], [attempt.peer, attempt.peer.to_s, attempt.local]
    ensure
      local&.stop
    end
  end

  def test_an_address_of_ipv6
    play = lambda do |connection|
      connection.gets("\r\n\r\n")
      connection.write(Scripted.response(200))
    end
    Peer.run(play, on: TCPServer.new("::1", 0)) do |server|
      peer = client.get(server.url).attempts.last.peer
      assert_equal ["::1", "[::1]:#{server.port}"], [peer.address, peer.to_s]
    end
  rescue Errno::EADDRNOTAVAIL
    skip "no IPv6 here"
  end

  def test_tls_names_version_cipher_protocol_and_the_real_certificates
    [[], ["--http2"]].each do |options|
      with_tls(*options) do |secure, client|
        context = OpenSSL::SSL::SSLContext.new
        uri = URI(secure.url)
        real = OpenSSL::SSL::SSLSocket.new(TCPSocket.new(uri.host, uri.port), context).connect
        shown = real.peer_cert_chain.map(&:to_der)
        real.close
        facts = Array.new(2) { client.get("#{secure.url}/r/1").attempts.last.tls }
        assert_equal facts.first, facts.last
        tls = facts.last
        assert_equal ["1.3", options.empty? ? "http/1.1" : "h2"], [tls.version, tls.alpn]
        assert_match(/\ATLS_[A-Z0-9_]+\z/, tls.cipher)
        assert_equal shown, tls.der
        assert_equal shown, tls.certificates.map(&:to_der)
        assert_kind_of OpenSSL::X509::Certificate, tls.certificate
        assert_equal Encoding::BINARY, tls.der.first.encoding
      end
    end
  end

  def test_each_attempt_has_its_own
    with_tls do |secure, client|
      redirected = client.get("#{secure.url}/redirect/302/1", redirects: 1)
      assert_equal 2, redirected.attempts.size
      assert_equal 1, redirected.attempts.map { |attempt| attempt.tls.der }.uniq.size
      response = client.get("#{secure.url}/r/1", redirects: 0)
      client.close
      GC.start
      refute_empty response.attempts.last.tls.der, "though the connection is gone"
    end
  end

  def test_a_response_can_be_marshalled_frozen_and_shared_with_its_certificates
    with_tls do |secure, client|
      der = client.get("#{secure.url}/r/1").attempts.last.tls.der
      [false, true].each do |decoded|
        response = client.get("#{secure.url}/r/1")
        response.attempts if decoded
        loaded = Marshal.load(Marshal.dump(response))
        assert_equal der, loaded.attempts.last.tls.der
        assert_equal response.attempts, loaded.attempts
        assert_equal der, Ractor.make_shareable(loaded).attempts.last.tls.der
        assert_equal der, Ractor.make_shareable(response).attempts.last.tls.der
      end
      error = error_of(Hecaton::ProtocolError) { client.get("#{secure.url}/fault/close") }
      assert_equal der, Marshal.load(Marshal.dump(error)).attempts.last.tls.der
    end
  end

  def test_a_dump_that_was_tampered_with_is_refused
    klass = Hecaton::Native::Certificates
    ["x", "\xFF\xFF\xFF\xFF", "\x01\0\0\0\x01\0\0\0\xFF\xFF\xFF\xFFab"].each do |bad|
      assert_raises(ArgumentError) { klass._load(bad.b) }
    end
  end

  def test_a_response_given_by_a_feature_keeps_its_ends_and_tls
    tls = Hecaton::TLS.new(version: "1.3", cipher: "TLS_X", alpn: "h2", der: ["a".b, "b".b])
    peer = Hecaton::Endpoint.new(address: "fe80::1%2", port: 1)
    ends = { peer: peer, local: Hecaton::Endpoint.new(address: "/a"), tls: tls }
    facts = { connection: 1, reused: false, sent: true, phase: :read, ending: :status, status: 200, version: "2" }
    attempt = Hecaton::Attempt.new(redirects: 0, begun: 0.0, **facts, **ends)
    given = Hecaton::Response.new(status: 200, url: "http://a.example/", http_method: "GET", attempts: [attempt])
    feature = Object.new
    feature.define_singleton_method(:respond) { |_request| given }
    client(features: [feature]).get("http://a.example/") do |stream|
      assert_equal ends, stream.attempts.last.to_h.slice(:peer, :local, :tls)
      assert_equal "http://a.example/", stream.url
    end
  end

  def test_a_record_that_is_written_and_read_has_the_tls_of_each_attempt
    facts = { connection: 1, reused: false, sent: true, phase: :read, ending: :status, redirects: 0, begun: 0.0 }
    attempts = [["a", nil], %w[b h2]].map do |certificate, alpn|
      Hecaton::Attempt.new(**facts, tls: Hecaton::TLS.new(version: "1.3", cipher: "x", alpn: alpn, der: [certificate]))
    end
    given = Object.new
    given.define_singleton_method(:respond) { |_| Hecaton::Response.new(status: 200, attempts: attempts) }
    read = client(features: [given]).get("http://a.test/") { |stream| stream.attempts.map(&:tls) }
    assert_equal attempts.map(&:tls), read
  end
end
