# The authorities that programs trust, and the certificates that they show: as Net::HTTP, from the same objects of
# OpenSSL.
require_relative "support"
require "tmpdir"

class NetHTTPTlsTest < NetHTTPTest
  def secure(*arguments)
    Dir.mktmpdir do |folder|
      ca = "#{folder}/ca.pem"
      arguments = ["--tls", *arguments] if arguments.grep(/\A--tls=/).empty?
      real_server = TestServer.new("--tls-ca-out", ca, *arguments)
      yield URI(real_server.url), ca, folder
    ensure
      real_server&.stop
    end
  end

  def request_once(klass, uri, **options) = klass.start(uri.host, uri.port, use_ssl: true, **options) { |http|
    http.get("/r/1").code
  }

  def store = OpenSSL::X509::Store.new.tap { |made| yield made }

  def test_authorities
    secure do |uri, ca, folder|
      certificate = OpenSSL::X509::Certificate.new(File.read(ca))
      File.write("#{folder}/#{format("%08x", certificate.subject.hash)}.0", certificate.to_pem)
      [
        { ca_file: ca }, { ca_path: folder }, { cert_store: store { |made| made.add_file(ca) } },
        { cert_store: store { |made| made.add_path(folder) } },
        { cert_store: store { |made| made.add_cert(certificate) } },
        { cert_store: store { |made| made.set_default_paths; made.add_file(ca) } },
        { cert_store: store { |made| made.set_default_paths }, ca_file: ca }, { verify_mode: OpenSSL::SSL::VERIFY_NONE }
      ].each { |trust| assert_equal "200", same { |klass| request_once(klass, uri, **trust) }, trust.inspect }
    end
  end

  def test_the_certificate_of_the_server
    secure do |uri, ca, _|
      shown = same { |klass|
        klass.start(uri.host, uri.port, use_ssl: true, ca_file: ca) { |http| http.get("/r/1"); http.peer_cert.to_der }
      }
      assert_equal shown, same { |klass|
        klass.start(uri.host, uri.port, use_ssl: true, ca_file: ca) { |http| http.peer_cert.to_der }
      }
      assert_equal shown, Hecaton::NetHTTP.start(uri.host, uri.port, use_ssl: true, ca_file: ca) { |http|
        http.request_get("/r/1") { |response| response.read_body }; http.peer_cert.to_der
      }
      same { |klass| klass.new(uri.host, uri.port).peer_cert }
    end
    same { |klass| klass.start(host, port) { |http| http.get("/r/1"); http.peer_cert } }
  end

  def test_who_is_not_trusted
    secure do |uri, _, _|
      [{}, { verify_mode: OpenSSL::SSL::VERIFY_PEER }, { cert_store: store(&:set_default_paths) }].each do |trust|
        error = same_error { |klass| request_once(klass, uri, **trust) }
        assert_match(/certificate verify failed/, error.message)
        assert_kind_of Hecaton::TLSError, error.cause
      end
    end
    secure("--tls=expired") { |uri, ca, _|
      assert_match(/expired/, same_error { |klass| request_once(klass, uri, ca_file: ca) }.message)
    }
    secure("--tls=wrong-host") do |uri, ca, _|
      same_error { |klass| request_once(klass, uri, ca_file: ca) }
      assert_equal "200", same { |klass| request_once(klass, uri, ca_file: ca, verify_hostname: false) }
      same_error { |klass| request_once(klass, uri, verify_hostname: false) }
    end
  end

  def test_stores_that_cannot_be_honoured
    secure do |uri, ca, _|
      { purpose: OpenSSL::X509::PURPOSE_SSL_SERVER, time: Time.now, flags: OpenSSL::X509::V_FLAG_CRL_CHECK }
        .each do |name, value|
        filled = store { |made| made.add_file(ca); made.public_send(:"#{name}=", value) }
        refused(/cert_store\.#{name}=/) { request_once(Hecaton::NetHTTP, uri, cert_store: filled) }
      end
    end
  end

  def test_what_cannot_be_read
    error = assert_raises(OpenSSL::SSL::SSLError) {
      request_once(Hecaton::NetHTTP, URI("https://127.0.0.1:1"), ca_file: "/nowhere/ca.pem")
    }
    assert_match(%r{/nowhere/ca\.pem}, error.message)
    Dir.mktmpdir { |folder|
      assert_raises(OpenSSL::SSL::SSLError) {
        request_once(Hecaton::NetHTTP, URI("https://127.0.0.1:1"), ca_path: folder)
      }
    }
  end

  def test_a_certificate_of_the_client
    Dir.mktmpdir do |folder|
      pair = "#{folder}/client.pem"
      secure("--tls-client", "--tls-client-out", pair) do |uri, ca, _|
        certificate = OpenSSL::X509::Certificate.new(File.read(pair))
        key = OpenSSL::PKey.read(File.read(pair))
        assert_equal "200", same { |klass| request_once(klass, uri, ca_file: ca, cert: certificate, key: key) }
        assert_raises(OpenSSL::SSL::SSLError) { request_once(Hecaton::NetHTTP, uri, ca_file: ca) }
        refused(/key/) { request_once(Hecaton::NetHTTP, uri, ca_file: ca, cert: certificate) }
      end
    end
  end

  def test_versions
    secure("--tls-1-2") do |uri, ca, _|
      assert_equal "200", same { |klass| request_once(klass, uri, ca_file: ca, min_version: :TLS1_2) }
      assert_equal "200", same { |klass| request_once(klass, uri, ca_file: ca, ssl_version: :SSLv23) }
      same_error { |klass| request_once(klass, uri, ca_file: ca, min_version: :TLS1_3) }
      same_error { |klass| request_once(klass, uri, ca_file: ca, min_version: OpenSSL::SSL::TLS1_3_VERSION) }
    end
  end

  def test_connections_of_other_trust_are_not_shared
    secure do |uri, ca, _|
      assert_equal "200", request_once(Hecaton::NetHTTP, uri, verify_mode: OpenSSL::SSL::VERIFY_NONE)
      assert_raises(OpenSSL::SSL::SSLError) { request_once(Hecaton::NetHTTP, uri) }
      assert_equal "200", request_once(Hecaton::NetHTTP, uri, ca_file: ca)
    end
  end

  def test_https_by_the_class
    secure do |uri, _, _|
      assert_raises(OpenSSL::SSL::SSLError) { Hecaton::NetHTTP.get(uri + "/r/1") }
    end
  end
end
