# Each of Faraday's ssl options is honoured, or refused by its name.
require_relative "faraday_helper"
require_relative "authority"
require "tmpdir"

class FaradaySslTest < FaradayTest
  def setup
    super
    @authority = Authority.new
    @folder = Dir.mktmpdir
    @ca = file("ca.pem", @authority.pem)
  end

  def teardown
    super
    FileUtils.rm_rf(@folder)
  end

  def file(name, content) = File.join(@folder, name).tap { |path| File.write(path, content) }

  # A server of this authority, or of another one.
  def secure(authority = @authority, names = "DNS:localhost", &block)
    server(authority.context(names, &block)) { [200, {}, "secret"] }
  end

  def get(server, adapter = [:hecaton], **ssl) = connection(server.url(host: "localhost"), adapter, ssl: ssl).get("/")

  def refused(**ssl) = assert_raises(Faraday::Error) { get(@any ||= secure, **ssl) }.message

  def test_ca_file_and_ca_path_say_whom_to_trust
    server = secure
    assert_instance_of Hecaton::TLSError, assert_raises(Faraday::SSLError) { get(server) }.cause
    assert_equal "secret", get(server, ca_file: @ca).body
    file(format("%08x.0", @authority.certificate.subject.hash), @authority.pem)
    assert_equal "secret", get(server, ca_path: @folder).body
    other = file("other.pem", Authority.new.pem)
    assert_raises(Faraday::SSLError) { get(server, ca_file: other) }
    assert_equal "secret", get(server, ca_file: other, ca_path: @folder).body
    assert_equal "secret", get(server, [:hecaton, { ca: @authority.pem }]).body
    assert_match(/ca_path .*no certificates/, refused(ca_path: Dir.mkdir(File.join(@folder, "empty")).then {
      File.join(@folder, "empty")
    }))
    assert_match(/ca_path .*No such file/, refused(ca_path: "/nowhere"))
    assert_match(/nowhere/, refused(ca_file: "/nowhere.pem"))
  end

  def test_verify_and_verify_mode_switch_it_off
    server = secure(Authority.new, "DNS:elsewhere")
    assert_raises(Faraday::SSLError) { get(server, ca_file: @ca) }
    assert_equal "secret", get(server, verify: false).body
    assert_equal "secret", get(server, verify_mode: OpenSSL::SSL::VERIFY_NONE).body
    assert_equal "secret", get(server, verify: true, verify_mode: OpenSSL::SSL::VERIFY_NONE).body
    assert_raises(Faraday::SSLError) { get(server, verify: false, verify_mode: OpenSSL::SSL::VERIFY_PEER) }
    assert_match(/verify_mode/, refused(verify_mode: 4))
  end

  def test_the_name_is_part_of_what_is_verified
    server = secure(@authority, "DNS:elsewhere")
    assert_raises(Faraday::SSLError) { get(server, ca_file: @ca) }
    return unless Faraday::SSLOptions.members.include?(:verify_hostname)

    assert_equal "secret", get(server, ca_file: @ca, verify_hostname: false).body
    assert_raises(Faraday::SSLError) { get(server, verify_hostname: false) }
    assert_equal "secret", get(secure, ca_file: @ca, verify_hostname: true).body
    assert_equal "secret", get(server, verify: false, verify_hostname: false).body
    assert_match(/hostname/, refused(hostname: "elsewhere"))
  end

  def test_a_client_certificate_as_objects_and_as_files
    certificate, key = @authority.sign("DNS:client")
    server = secure do |context|
      context.verify_mode = OpenSSL::SSL::VERIFY_PEER | OpenSSL::SSL::VERIFY_FAIL_IF_NO_PEER_CERT
      context.cert_store = OpenSSL::X509::Store.new.add_cert(@authority.certificate)
    end
    assert_raises(Faraday::SSLError, Faraday::ConnectionFailed) { get(server, ca_file: @ca) }
    assert_equal "secret", get(server, ca_file: @ca, client_cert: certificate, client_key: key).body
    paths = { client_cert: file("cert.pem", certificate.to_pem), client_key: file("key.pem", key.to_pem) }
    assert_equal "secret", get(server, ca_file: @ca, **paths).body
  end

  def test_versions
    old = secure { |context| context.max_version = OpenSSL::SSL::TLS1_2_VERSION }
    assert_equal "secret", get(old, ca_file: @ca, min_version: :TLS1_2).body
    assert_equal "secret", get(old, ca_file: @ca, min_version: OpenSSL::SSL::TLS1_VERSION).body
    assert_equal "secret", get(old, ca_file: @ca, version: :SSLv23, max_version: "TLS1_3").body
    [:TLS1_3, "TLS1_3", OpenSSL::SSL::TLS1_3_VERSION].each do |newest|
      assert_raises(Faraday::SSLError) { get(old, ca_file: @ca, min_version: newest) }
    end
    assert_raises(Faraday::SSLError) { get(old, ca_file: @ca, version: :TLSv1_3) }
    assert_match(/max_version/, refused(max_version: :TLS1_2))
    assert_match(/version is not supported/, refused(version: :TLSv1_2))
    assert_match(/min_version/, refused(min_version: :SSLv9))
  end

  def test_what_is_refused_matters_where_tls_is_used_alone
    plain = server { [200, {}, "open"] }
    assert_equal "open", connection(plain.url, [:hecaton], ssl: { verify_depth: 3 }).get("/").body
    assert_raises(Faraday::Error) {
      connection(plain.url, [:hecaton, { redirects: true }], ssl: { verify_depth: 3 }).get("/")
    }
    both = connection(plain.url, [:hecaton], ssl: { verify_depth: 3 })
    assert_equal "open", both.get("/").body
    assert_match(/verify_depth/, assert_raises(Faraday::Error) { both.get(secure.url(host: "localhost")) }.message)
  end

  def test_what_is_refused
    assert_match(/cert_store/, refused(cert_store: OpenSSL::X509::Store.new))
    assert_match(/certificate/, refused(certificate: @authority.certificate))
    assert_match(/private_key/, refused(private_key: OpenSSL::PKey::EC.generate("prime256v1")))
    assert_match(/verify_depth/, refused(verify_depth: 3))
    assert_match(/ciphers/, refused(ciphers: "HIGH")) if Faraday::SSLOptions.members.include?(:ciphers)
    assert_equal Faraday::SSLOptions.members.sort, %i[
      ca_file ca_path cert_store certificate ciphers client_cert
      client_key hostname max_version min_version private_key verify
      verify_depth verify_hostname verify_mode version
    ] & Faraday::SSLOptions.members, "an option that nobody thought of"
  end
end
