# TLS from Ruby: who is trusted, what a refusal says, and that connections are reused.
require "test_helper"
require "timeout"
require "net/http"
require "openssl"
require "socket"
require "tempfile"
require "tmpdir"

class TlsTest < ServerTest
  # An authority, and the certificates it signs.
  class Authority
    attr_reader :certificate, :key

    def initialize
      @key = OpenSSL::PKey::EC.generate("prime256v1")
      @name = OpenSSL::X509::Name.parse("/CN=authority #{object_id}")
      @certificate = make(@name, @key, [%w[basicConstraints CA:TRUE critical]])
    end

    def pem = certificate.to_pem

    # One whose certificate this one signs, with this Key Usage, nil for none.
    def intermediate(usage)
      Authority.allocate.tap { |below| below.send(:begin_below, self, usage) }
    end

    # [certificate, key] for names such as "DNS:localhost".
    def sign(names, **times)
      key = OpenSSL::PKey::EC.generate("prime256v1")
      [make(OpenSSL::X509::Name.parse("/CN=leaf"), key, [["subjectAltName", names]], **times), key]
    end

    # One whose name is its common name alone, of this version, and with a critical extension that nobody knows if it is
    # requested.
    def odd(key: OpenSSL::PKey::EC.generate("prime256v1"), version: 2, critical: false, name: "localhost")
      certificate = make(OpenSSL::X509::Name.parse("/CN=#{name}"), key, [])
      certificate.version = version
      certificate.add_extension(OpenSSL::X509::Extension.new("1.3.6.1.4.1.99999.1", "\x05\x00", true)) if critical
      [certificate.sign(@key, OpenSSL::Digest.new("SHA256")), key]
    end

    private

    def begin_below(above, usage)
      @key = OpenSSL::PKey::EC.generate("prime256v1")
      @name = OpenSSL::X509::Name.parse("/CN=intermediate #{object_id}")
      extensions = [%w[basicConstraints CA:TRUE critical], (["keyUsage", usage, "critical"] if usage)].compact
      @certificate = above.send(:make, @name, @key, extensions)
    end

    def make(subject, key, extensions, from: Time.now - 3600, to: Time.now + 3600)
      certificate = OpenSSL::X509::Certificate.new
      certificate.version = 2
      certificate.serial = rand(1 << 60)
      certificate.subject = subject
      certificate.issuer = @name
      certificate.public_key = key
      certificate.not_before = from
      certificate.not_after = to
      factory = OpenSSL::X509::ExtensionFactory.new
      extensions.each { |name, value, critical|
        certificate.add_extension(factory.create_extension(name, value, !critical.nil?))
      }
      certificate.sign(@key, OpenSSL::Digest.new("SHA256"))
    end
  end

  # Responds to every request; counts the handshakes.
  class Server
    attr_reader :port, :handshakes

    # Queues: how each connection ended: :close_notify, or the error's class; what the handshakes that failed said.
    attr_reader :ends, :refused

    def initialize(certificate, key)
      @ends, @refused = Queue.new, Queue.new
      context = OpenSSL::SSL::SSLContext.new
      context.cert = certificate
      context.key = key
      yield context if block_given?
      @listener = TCPServer.new("127.0.0.1", 0)
      @port = @listener.local_address.ip_port
      @handshakes = 0
      @thread = Thread.new { loop { serve(OpenSSL::SSL::SSLSocket.new(@listener.accept, context)) } }
      @thread.report_on_exception = false
    end

    def url(host = "localhost") = "https://#{host}:#{port}/"

    def stop
      @thread.kill.join
      @listener.close
    end

    private

    def shake(socket)
      socket.accept
    rescue OpenSSL::SSL::SSLError => error
      @refused << error.message
      raise
    end

    def serve(socket)
      Thread.new do
        shake(socket)
        @handshakes += 1
        while (line = socket.gets)
          next unless line == "\r\n"

          socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        end
        @ends << :close_notify
      rescue OpenSSL::SSL::SSLError, SystemCallError, IOError => error
        @ends << error.class # The client hung up, which is what most of these tests are about.
      ensure
        socket.to_io.close
      end
    end
  end

  def setup = @authority = Authority.new

  def with_server(names = "DNS:localhost", **times, &block)
    serve(*@authority.sign(names, **times), &block)
  end

  def serve(certificate, key, change = nil)
    server = Server.new(certificate, key) { |context| change&.call(context) }
    yield server
  ensure
    server&.stop
  end

  def test_a_trusted_server_gets_all_requests_over_one_connection
    with_server do |server|
      client = client(ca: @authority.pem)
      responses = Array.new(3) { sleep 0.02; client.get(server.url) }
      assert_equal %w[ok ok ok], responses.map(&:body)
      assert_equal [false, true, true], responses.map { |response| response.attempts.last.reused? }
      assert_kind_of Float, responses.first.timings.tls_time
      assert_nil responses.last.timings.tls_time
      assert_equal 1, server.handshakes
    end
  end

  def test_a_batch_uses_tls
    with_server do |server|
      statuses = []
      client(ca: @authority.pem).batch(concurrency: 4) do |batch|
        20.times { batch.get(server.url).on_complete { |outcome| statuses << outcome.response.status } }
      end
      assert_equal [200] * 20, statuses
      assert_operator server.handshakes, :<=, 4
    end
  end

  def test_ca_may_be_a_file
    with_server do |server|
      Tempfile.create("ca") do |file|
        file.write(@authority.pem)
        file.close
        assert_equal 200, client(ca: file.path).get(server.url).status
      end
    end
  end

  def test_files_are_read_once_and_not_again_after_a_fork
    with_server do |server|
      file = Tempfile.new("ca")
      file.write(@authority.pem)
      file.close
      client = client(ca: file.path)
      file.unlink
      assert_equal 200, client.get(server.url).status
      child = fork { exit!(client.get(server.url).status == 200) }
      assert_predicate Process.wait2(child).last, :success?
    end
  end

  def test_each_refusal_says_which
    hour = 3600
    with_server { |server|
      assert_refused(server, /unknown issuer/, ca: Authority.new.pem, reason: :certificate_untrusted)
    }
    with_server { |server| assert_refused(server, /unknown issuer|no trusted certificates/, ca: nil) } # the system's
    with_server("DNS:other.example") { |server|
      assert_refused(server, /another host \(it names other\.example\)/, reason: :certificate_wrong_host)
    }
    with_server(from: Time.now - 2 * hour, to: Time.now - hour) { |server|
      assert_refused(server, /has expired/, reason: :certificate_expired)
    }
    with_server(from: Time.now + hour, to: Time.now + 2 * hour) { |server|
      assert_refused(server, /not valid yet/, reason: :certificate_not_yet_valid)
    }
    with_server { |server|
      assert_refused(server, /pins/, pins: [pin(@authority.key)], reason: :certificate_not_pinned)
    }
    with_server { |server| assert_refused(server, /no TLS with 127/, url: server.url("127.0.0.1")) }
  end

  def test_a_pin_is_the_hash_of_the_key
    certificate, key = @authority.sign("DNS:localhost")
    serve(certificate, key) { |server|
      assert_equal 200, client(ca: @authority.pem, pins: [pin(key)]).get(server.url).status
    }
  end

  def test_a_client_certificate_is_shown_when_demanded
    shown, key = @authority.sign("DNS:client")
    demand = lambda do |context|
      context.verify_mode = OpenSSL::SSL::VERIFY_PEER | OpenSSL::SSL::VERIFY_FAIL_IF_NO_PEER_CERT
      context.cert_store = OpenSSL::X509::Store.new.add_cert(@authority.certificate)
    end
    %i[TLS1_2 TLS1_3].each do |version|
      only = ->(context) {
        demand.call(context)
        context.min_version = context.max_version = OpenSSL::SSL.const_get("#{version}_VERSION")
      }
      serve(*@authority.sign("DNS:localhost"), only) do |server|
        error = error_of(Hecaton::TLSError) { client(ca: @authority.pem).get(server.url) }
        assert_match(/client certificate/, error.message)
        client = client(ca: @authority.pem, client_cert: shown.to_pem, client_key: key.to_pem)
        assert_equal 200, client.get(server.url).status
      end
    end
  end

  def test_a_key_with_a_passphrase
    shown, key = @authority.sign("DNS:client")
    locked = key.private_to_pem(OpenSSL::Cipher.new("aes-256-cbc"), "open sesame")
    older = OpenSSL::PKey::RSA.new(2048).to_pem(OpenSSL::Cipher.new("aes-128-cbc"), "open sesame")
    demand = lambda do |context|
      context.verify_mode = OpenSSL::SSL::VERIFY_PEER | OpenSSL::SSL::VERIFY_FAIL_IF_NO_PEER_CERT
      context.cert_store = OpenSSL::X509::Store.new.add_cert(@authority.certificate)
    end
    Dir.mktmpdir do |folder|
      File.write("#{folder}/key.pem", locked)
      serve(*@authority.sign("DNS:localhost"), demand) do |server|
        trusting = { ca: @authority.pem, client_key_password: "open sesame" }
        [{ client_cert: shown.to_pem, client_key: locked },
         { client_cert: shown.to_pem, client_key: "#{folder}/key.pem" },
         { client_cert: "#{shown.to_pem}#{locked}" }].each do |identity|
          assert_equal 200, client(**trusting, **identity).get(server.url).status
        end
      end
    end
    refused = lambda do |words, **settings|
      message = assert_raises(ArgumentError) { client(client_cert: shown.to_pem, **settings) }.message
      assert_match words, message
      refute_match(/open sesame|close/, message)
    end
    refused.call(/\Aclient_key: the text has a private key that client_key_password does not decrypt/,
      client_key: locked, client_key_password: "close")
    refused.call(/passphrase/, client_key: locked)
    refused.call(/of class Symbol: give a String/, client_key: locked, client_key_password: :a)
    refused.call(/\Aclient_key: cannot read "\/no\/such\/file": No such file/,
      client_key: "/no/such/file", client_key_password: "close")
    refused.call(/client_key is not the key of the first certificate in client_cert/,
      client_key: older, client_key_password: "open sesame")
    assert_raises(ArgumentError) { client(client_key_password: "x") }
  end

  # The setting, the file, and what is wrong.
  def test_a_file_that_cannot_be_used_is_named
    leaf, key = @authority.sign("DNS:localhost")
    files = {
      "garbage" => "garbage", "cut" => leaf.to_pem[0, 200], "certificate" => leaf.to_pem,
      "bad_key" => "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
      "bad_list" => "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n",
      "bad_certificate" => "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    }
    Dir.mktmpdir do |folder|
      path = ->(name) { "#{folder}/#{name}".tap { |file| File.write(file, files.fetch(name)) } }
      [[:crl, "garbage", "no list of revoked certificates in PEM"],
       [:crl, "bad_list", "a list of revoked certificates that cannot be read: it is not valid DER"],
       [:crl, "cut", 'broken PEM: "-----BEGIN CERTIFICATE-----" has no "-----END CERTIFICATE-----"'],
       [:ca, "bad_certificate", "a certificate that cannot be read: it is not valid DER"],
       [:client_cert, "certificate", "no private key in PEM, and there is no client_key"],
       [:client_key, "garbage", "no private key in PEM"],
       [:client_key, "bad_key",
        "a private key that cannot be read: it must be of RSA, ECDSA or Ed25519"]].each do |name, file, wrong|
        settings = { name => path.call(file) }
        settings[:client_cert] = leaf.to_pem if name == :client_key
        assert_equal "#{name}: #{settings[name].inspect} has #{wrong}",
          assert_raises(ArgumentError) { client(**settings) }.message
      end
      mixed = { client_cert: path.call("bad_certificate"), client_key: key.to_pem }
      assert_match(/\Aclient_cert: ".*" has a certificate that cannot be read/,
        assert_raises(ArgumentError) { client(**mixed) }.message)
      secret = { client_cert: leaf.to_pem, client_key: path.call("garbage"), client_key_password: "x" }
      assert_match(/\Aclient_key: ".*garbage" has no private key that can be read/,
        assert_raises(ArgumentError) { client(**secret) }.message)
    end
  end

  # RFC 5280 §6.1.4 (n).
  def test_an_intermediate_whose_key_usage_forbids_signing_is_refused
    { nil => true, "keyCertSign" => true, "digitalSignature,keyCertSign,cRLSign" => true,
      "cRLSign" => false, "digitalSignature" => false,
      "decipherOnly" => false }.each do |usage, good|
      below = @authority.intermediate(usage)
      leaf, key = below.sign("DNS:localhost")
      serve(leaf, key, ->(context) { context.extra_chain_cert = [below.certificate] }) do |server|
        request = -> { client(ca: @authority.pem).get(server.url).status }
        good ? assert_equal(200, request.call, usage) : error_of(Hecaton::TLSError, &request)
        # An authority that the program trusts may sign.
        assert_equal 200, client(ca: below.pem).get(server.url).status, usage
      end
    end
  end

  # Of two lists of one authority the newer one counts, whatever their order.
  def test_the_newest_list_of_revoked_certificates_counts
    leaf, key = @authority.sign("DNS:localhost")
    serve(leaf, key) do |server|
      good, bad = leaf.serial + 1, leaf.serial
      [[good, bad, false], [bad, good, true]].each do |old, new, accepted|
        lists = [list(old, begin_at: Time.now - 7200), list(new, begin_at: Time.now - 3600)]
        [lists, lists.reverse].each do |given|
          request = -> { client(ca: @authority.pem, crl: given.join).get(server.url).status }
          accepted ? assert_equal(200, request.call) :
            assert_match(/has been revoked/, error_of(Hecaton::TLSError, &request).message)
        end
      end
    end
  end

  def test_revoked_certificates
    leaf, key = @authority.sign("DNS:localhost")
    serve(leaf, key) do |server|
      assert_equal 200, client(ca: @authority.pem, crl: list(leaf.serial + 1)).get(server.url).status
      error = error_of(Hecaton::TLSError) { client(ca: @authority.pem, crl: list(leaf.serial)).get(server.url) }
      assert_match(/has been revoked/, error.message)
      error = error_of(Hecaton::TLSError) { client(ca: @authority.pem, crl: list(leaf.serial + 1, -1)).get(server.url) }
      assert_match(/out of date/, error.message)
      stranger = Authority.new
      error = error_of(Hecaton::TLSError) {
        client(ca: @authority.pem, crl: list(leaf.serial, 3600, stranger)).get(server.url)
      }
      assert_match(/no list of `crl`/, error.message)
      both = list(leaf.serial, 3600, stranger) + list(leaf.serial + 1)
      assert_equal 200, client(ca: @authority.pem, crl: both).get(server.url).status
      # A key of the authority's name that is not its own proves nothing.
      forged = list(leaf.serial + 1, 3600, stranger, @authority.certificate.subject)
      error_of(Hecaton::TLSError) { client(ca: @authority.pem, crl: forged).get(server.url) }
      assert_match(/\Acrl: /, assert_raises(ArgumentError) { client(crl: @authority.pem) }.message)
    end
  end

  # A list of an authority's that revokes one, and holds for so many seconds.
  def list(serial, seconds = 3600, authority = @authority,
    issuer = authority.certificate.subject, begin_at: Time.now - 7200)
    revoked = OpenSSL::X509::Revoked.new
    revoked.serial = serial
    revoked.time = Time.now - 7200
    list = OpenSSL::X509::CRL.new
    list.version = 1
    list.issuer = issuer
    list.last_update = begin_at
    list.next_update = Time.now + seconds
    list.add_revoked(revoked)
    list.add_extension(OpenSSL::X509::Extension.new("crlNumber", OpenSSL::ASN1::Integer(1)))
    list.sign(authority.key, OpenSSL::Digest.new("SHA256")).to_pem
  end

  def test_the_oldest_version_is_respected
    old = ->(context) { context.max_version = OpenSSL::SSL::TLS1_2_VERSION }
    serve(*@authority.sign("DNS:localhost"), old) do |server|
      assert_equal 200, client(ca: @authority.pem).get(server.url).status
      assert_equal 200, client(ca: @authority.pem, tls_min: "1.2").get(server.url).status
      assert_refused(server, /version/, tls_min: "1.3")
    end
  end

  def test_verification_can_be_turned_off_by_name_only
    with_server("DNS:other.example") do |server|
      assert_equal 200, client(verify: false).get(server.url).status
      [nil, true].each { |verify| assert_refused(server, /another host/, verify: verify) }
    end
  end

  def test_the_name_alone_can_be_left_out_of_what_is_verified
    with_server("DNS:other.example") do |server|
      assert_equal 200, client(ca: @authority.pem, verify_hostname: false).get(server.url).status
      assert_equal 200, client(ca: @authority.pem, verify_hostname: false).get(server.url("127.0.0.1")).status
      [nil, true].each { |names| assert_refused(server, /another host/, verify_hostname: names) }
      assert_refused(server, /not.*trusted|unknown/, ca: Authority.new.pem, verify_hostname: false)
      assert_refused(server, /pin/, verify_hostname: false, pins: [pin(@authority.key)])
    end
    with_server("DNS:other.example", to: Time.now - 60) { |server|
      assert_refused(server, /expired/, verify_hostname: false)
    }
    error_of(ArgumentError) { client.with(verify_hostname: false) }
  end

  def test_the_environment_names_whom_to_trust
    with_server do |server|
      Tempfile.create("roots") do |file|
        file.write(@authority.pem)
        file.close
        with_environment("SSL_CERT_FILE" => file.path, "SSL_CERT_DIR" => nil) {
          assert_equal 200, client.get(server.url).status
        }
      end
      Dir.mktmpdir do |folder|
        File.write(File.join(folder, "authority.pem"), @authority.pem)
        with_environment("SSL_CERT_FILE" => nil, "SSL_CERT_DIR" => folder) {
          assert_equal 200, client.get(server.url).status
        }
      end
      missing = { "SSL_CERT_FILE" => "/no/such/file", "SSL_CERT_DIR" => nil }
      error = with_environment(missing) { error_of(Hecaton::TLSError) { client.get(server.url) } }
      assert_match(/no trusted certificates/, error.message)
      assert_equal [:tls, false], [error.phase, error.sent?]
    end
  end

  def test_settings_that_can_not_be_used_are_refused_at_once
    [{ ca: "/no/such/file" }, { tls_min: "1.1" }, { pins: ["sha1/AAAA"] }, { client_key: "key" }].each do |settings|
      error = assert_raises(ArgumentError) { client(**settings) }
      assert_includes error.message, settings.keys.first.to_s
    end
  end

  def test_off_means_off_for_certificates_of_any_kind
    weak = OpenSSL::PKey::RSA.new(1024)
    odd = { "version 1" => { version: 0 }, "a critical extension" => { critical: true }, "RSA 1024" => { key: weak },
            "RSA 1024, version 1" => { key: weak, version: 0 },
            "RSA 2048" => { key: OpenSSL::PKey::RSA.new(2048), version: 0 } }
    odd.each do |kind, how|
      certificate, key = @authority.odd(**how)
      [OpenSSL::SSL::TLS1_2_VERSION, OpenSSL::SSL::TLS1_3_VERSION].each do |version|
        weaker = lambda do |context|
          context.security_level = 0
          context.min_version = context.max_version = version
        end
        serve(certificate, key, weaker) do |server|
          assert_equal 200, client(verify: false).get(server.url).status, kind
          assert_raises(Hecaton::TLSError, kind) { client(ca: @authority.pem).get(server.url) }
          other = pin(OpenSSL::PKey::EC.generate("prime256v1"))
          assert_refused(server, /key/, ca: nil, verify: false, pins: [other])
          assert_equal 200, client(verify: false, pins: [pin(key)]).get(server.url).status, kind
        end
      end
    end
  end

  # Only the verification of the chain is switched off. Net::HTTP without verification and `curl -k` refuse such a
  # server too.
  def test_a_server_without_the_key_of_its_certificate_is_refused_even_unverified
    [2048, 1024].each do |bits|
      key = OpenSSL::PKey::RSA.new(bits)
      certificate, = @authority.odd(key: key, version: 0)
      [OpenSSL::SSL::TLS1_2_VERSION, OpenSSL::SSL::TLS1_3_VERSION].each do |version|
        weaker = lambda do |context|
          context.security_level = 0
          context.min_version = context.max_version = version
        end
        serve(certificate, with_the_secret_of_another(key), weaker) do |server|
          [{}, { pins: [pin(key)] }].each { |settings|
            assert_refused(server, /a key that the server does not have/, verify: false, **settings)
          }
          assert_raises(OpenSSL::SSL::SSLError) { unverified(server.port) }
        end
        serve(certificate, key, weaker) { |server| assert_equal "ok", unverified(server.port) }
      end
    end
  end

  def test_a_server_receives_the_reason_of_its_refusal
    [OpenSSL::SSL::TLS1_2_VERSION, OpenSSL::SSL::TLS1_3_VERSION].each do |version|
      only = ->(context) { context.min_version = context.max_version = version }
      serve(*@authority.sign("DNS:localhost"), only) do |server|
        error_of(Hecaton::TLSError) { client(ca: Authority.new.pem).get(server.url) }
        # Another program's test may have tried this port before, without TLS.
        Timeout.timeout(20, Timeout::Error, "no alert came") { nil until server.refused.pop.include?("alert") }
      end
    end
  end

  def test_a_common_name_alone_is_no_name
    serve(*@authority.odd) { |server| assert_refused(server, /another host \(it names none\)/) }
  end

  def test_a_child_never_ends_the_tls_of_its_parent
    with_server do |server|
      client = client(ca: @authority.pem)
      client.get(server.url)
      pid = fork do
        client.close
        client.get(server.url)
        client.close
        exit!(0)
      end
      Process.wait(pid)
      assert_predicate $?, :success?
      assert_equal :close_notify, server.ends.pop, "the child's own connection"
      assert_predicate client.get(server.url).attempts.last, :reused?
      assert_empty server.ends
      client.close
      assert_equal :close_notify, server.ends.pop
    end
  end

  def test_the_handshake_has_a_limit_of_its_own
    TCPServer.open("127.0.0.1", 0) do |mute|
      error = error_of(Hecaton::TimeoutError) {
        client(tls_timeout: 0.2).get("https://127.0.0.1:#{mute.local_address.ip_port}/")
      }
      assert_equal [:tls, false], [error.phase, error.sent?]
      assert_operator error.elapsed, :>=, 0.2
    end
  end

  private

  def assert_refused(server, message, url: server.url, reason: nil, **settings)
    error = error_of(Hecaton::TLSError) { client(**{ ca: @authority.pem }.merge(settings)).get(url) }
    assert_match message, error.message
    assert_equal reason, error.reason if reason
    assert_equal [:tls, false, 1], [error.phase, error.sent?, error.attempts.size]
  end

  # A key of the same public numbers that signs as another one does.
  def with_the_secret_of_another(key)
    other = OpenSSL::PKey::RSA.new(key.n.num_bits)
    numbers = [0, key.n, key.e, other.d, other.p, other.q, other.dmp1, other.dmq1, other.iqmp]
    OpenSSL::PKey::RSA.new(OpenSSL::ASN1::Sequence(numbers.map { |number| OpenSSL::ASN1::Integer(number) }).to_der)
  end

  # The result of Net::HTTP without verification.
  def unverified(port)
    http = Net::HTTP.new("127.0.0.1", port, nil)
    http.use_ssl = true
    http.verify_mode = OpenSSL::SSL::VERIFY_NONE
    http.ciphers = "ALL:@SECLEVEL=0"
    http.get("/").body
  end

  def pin(key)
    spki = key.respond_to?(:public_to_der) ? key.public_to_der : key.to_der
    "sha256/#{OpenSSL::Digest::SHA256.base64digest(spki)}"
  end

  def with_environment(values)
    before = values.to_h { |name, _| [name, ENV.fetch(name, nil)] }
    ENV.update(values)
    yield
  ensure
    ENV.update(before)
  end
end
