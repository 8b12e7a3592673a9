# TLS: whom to trust, and what to show.
require_relative "drop_in"
require "fileutils"
require "openssl"
require "time"
require "tmpdir"

class TyphoeusTlsTest < DropInTest
  # A server with TLS, and the folder with its authority.
  def with_tls(*arguments, tls: "--tls")
    Dir.mktmpdir do |folder|
      with_real_server(tls, "--tls-ca-out", "#{folder}/ca.pem",
        *arguments.map { |argument| argument.gsub("FOLDER", folder) }) do |real_server|
        yield "#{real_server.url}/r/1", folder
      end
    end
  end

  def code(address, **options)
    response = Typhoeus.get(address, timeout: 10, **options)
    response.code == 200 ? 200 : response.return_code
  end

  def test_trust
    with_tls do |address, folder|
      assert_equal :peer_failed_verification, code(address)
      assert_equal 200, code(address, cainfo: "#{folder}/ca.pem")
      assert_equal 200, code(address, ssl_verifypeer: false)
      assert_equal 200, code(address, ssl_verifypeer: false, ssl_verifyhost: 0)
      assert_equal 200, code(address, cainfo: "#{folder}/ca.pem", sslversion: :tlsv1_3, ssl_verifyhost: 2)
      response = Typhoeus.get(address, cainfo: "#{folder}/ca.pem", timeout: 10, forbid_reuse: true)
      assert_operator response.appconnect_time, :>, 0
      assert_equal "SSL peer certificate or SSH remote key was not OK",
        Typhoeus.get(address, timeout: 10).return_message
    end
  end

  # Certificates under other names are not trusted, as OpenSSL does not look for them.
  def test_a_folder_of_authorities
    with_tls do |address, folder|
      Dir.mktmpdir do |hashed|
        name = OpenSSL::X509::Certificate.new(File.read("#{folder}/ca.pem")).subject.hash.to_s(16).rjust(8, "0")
        error = assert_raises(Ethon::Errors::InvalidValue) { code(address, capath: hashed) }
        assert_match(/It has no certificates under names that openssl rehash gives\.\z/, error.message)
        FileUtils.cp("#{folder}/ca.pem", hashed)
        assert_raises(Ethon::Errors::InvalidValue) { code(address, capath: hashed) }
        File.rename("#{hashed}/ca.pem", "#{hashed}/#{name}.0")
        assert_equal 200, code(address, capath: hashed)
      end
      error = assert_raises(Ethon::Errors::InvalidValue) { code(address, capath: "#{folder}/missing") }
      assert_match(/It cannot be read: No such file or directory/, error.message)
    end
  end

  def test_the_server_of_an_attempt
    plain = Typhoeus.get(url("/r/1"))
    uri = URI(url("/"))
    assert_equal [uri.host, uri.port, "127.0.0.1", []],
      [plain.primary_ip, plain.primary_port, plain.local_ip, plain.certinfo]
    assert_operator plain.local_port, :>, 0
    with_tls do |address, folder|
      response = Typhoeus.get(address, cainfo: "#{folder}/ca.pem", certinfo: true)
      authority = OpenSSL::X509::Certificate.new(File.read("#{folder}/ca.pem"))
      facts = Marshal.load(Marshal.dump(response)).certinfo.first
      assert_equal authority.subject.to_utf8, facts["Issuer"]
      assert OpenSSL::X509::Certificate.new(facts["Cert"]).verify(authority.public_key)
      assert_equal OpenSSL::X509::Certificate.new(facts["Cert"]).not_after, Time.parse(facts["Expire date"])
    end
  end

  def test_the_name_alone_can_be_left_out
    assert_equal 200, code(url("/r/1"), ssl_verifyhost: 0)
    with_tls(tls: "--tls=wrong-host") do |address, folder|
      trust = { cainfo: "#{folder}/ca.pem" }
      assert_equal :peer_failed_verification, code(address, **trust)
      assert_equal 200, code(address, ssl_verifyhost: 0, **trust)
      assert_equal :peer_failed_verification, code(address, ssl_verifyhost: 0)
      assert_equal :peer_failed_verification, code(address, ssl_verifyhost: 2, **trust)
    end
  end

  def test_trust_of_one_request_is_not_that_of_the_next
    with_tls do |address, folder|
      hydra = Typhoeus::Hydra.new
      codes = []
      [{}, { cainfo: "#{folder}/ca.pem" }, {}, { ssl_verifypeer: false }].each_with_index do |options, index|
        request = Typhoeus::Request.new(address, timeout: 10, **options)
        request.on_complete { |response| codes[index] = response.return_code }
        hydra.queue(request)
      end
      hydra.run
      assert_equal %i[peer_failed_verification ok peer_failed_verification ok], codes
    end
  end

  def test_certificates_of_clients
    with_tls("--tls-client", "--tls-client-out", "FOLDER/client.pem") do |address, folder|
      pem = File.read("#{folder}/client.pem")
      key = OpenSSL::PKey.read(pem)
      File.write("#{folder}/key.pem", key.private_to_pem(OpenSSL::Cipher.new("aes-256-cbc"), "open sesame"))
      File.write("#{folder}/cert.pem", pem[/-+BEGIN CERTIFICATE.*?END CERTIFICATE-+\n/m])
      trust = { cainfo: "#{folder}/ca.pem" }
      refute_equal 200, code(address, **trust)
      assert_equal 200, code(address, sslcert: "#{folder}/client.pem", **trust)
      assert_equal 200,
        code(address, sslcert: "#{folder}/cert.pem", sslkey: "#{folder}/key.pem", keypasswd: "open sesame",
          sslcerttype: "PEM", sslkeytype: "PEM", **trust)
      error = refused(Ethon::Errors::InvalidValue, /cannot be read/) do
        code(address, sslcert: "#{folder}/cert.pem", sslkey: "#{folder}/key.pem", keypasswd: "wrong secret", **trust)
      end
      refute_includes error.message, "wrong secret"
    end
  end

  def test_files_that_are_replaced_or_missing
    with_tls do |address, folder|
      other = "#{folder}/other.pem"
      certificate = OpenSSL::X509::Certificate.new(File.read("#{folder}/ca.pem"))
      certificate.public_key = key = OpenSSL::PKey::RSA.new(2048)
      File.write(other, certificate.sign(key, OpenSSL::Digest.new("SHA256")).to_pem)
      refute_equal 200, code(address, cainfo: other)
      File.write(other, File.read("#{folder}/ca.pem"))
      assert_equal 200, code(address, cainfo: other)
      refused(Ethon::Errors::InvalidValue, /cainfo.*Hecaton says/m) { code(address, cainfo: "#{folder}/nothing.pem") }
    end
  end

  def test_lists_of_revoked_certificates
    with_tls do |address, folder|
      trusted = { cainfo: "#{folder}/ca.pem" }
      key = OpenSSL::PKey::EC.generate("prime256v1")
      list = OpenSSL::X509::CRL.new
      list.version = 1
      list.issuer = OpenSSL::X509::Name.parse("/CN=stranger")
      list.last_update, list.next_update = Time.now - 60, Time.now + 3600
      list.add_extension(OpenSSL::X509::Extension.new("crlNumber", OpenSSL::ASN1::Integer(1)))
      File.write("#{folder}/list.pem", list.sign(key, OpenSSL::Digest.new("SHA256")).to_pem)
      # No list is for this authority.
      assert_equal [200, :peer_failed_verification],
        [code(address, **trusted), code(address, **trusted, crlfile: "#{folder}/list.pem")]
      refused(Ethon::Errors::InvalidValue, /crlfile/) { code(address, **trusted, crlfile: "#{folder}/ca.pem") }
    end
  end

  def test_pins
    with_tls do |address, folder|
      wrong = "sha256//#{["x" * 32].pack("m0")}"
      assert_equal :peer_failed_verification, code(address, cainfo: "#{folder}/ca.pem", pinnedpublickey: wrong)
    end
  end

  def test_http2
    with_tls("--http2") do |address, folder|
      response = Typhoeus.get(address, cainfo: "#{folder}/ca.pem", timeout: 10, http_version: :httpv2_0)
      assert_equal ["2", "", 200], [response.http_version, response.status_message, response.code]
      assert_equal "1.1",
        Typhoeus.get(address, cainfo: "#{folder}/ca.pem", timeout: 10, http_version: :httpv1_1).http_version
    end
  end
end
