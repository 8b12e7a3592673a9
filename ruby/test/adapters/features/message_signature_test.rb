# HTTP Message Signatures against the examples of RFC 9421, appendix B, and each algorithm by the public key.
require "test_helper"
require "scripted"
require "hecaton/features/message_signature"

class MessageSignatureTest < ServerTest
  # RFC 9421 §B.2.
  HEADERS = {
    "Host" => "example.com", "Date" => "Tue, 20 Apr 2021 02:07:55 GMT", "Content-Type" => "application/json",
    "Content-Digest" =>
      "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:",
    "Content-Length" => "18"
  }.freeze
  SECRET = "uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ==".unpack1("m")
  ED25519 = "-----BEGIN PRIVATE " \
    "KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF\n-----END PRIVATE KEY-----\n".freeze

  def feature(**options)
    Hecaton::Features::MessageSignature.new(nonce: false, clock: -> { Time.at(1_618_884_473) }, **options)
  end

  def signed(feature)
    request = Hecaton::Request.new("POST", "https://example.com/foo?param=Value&Pet=dog",
      headers: HEADERS, body: '{"hello": "world"}')
    feature.before_attempt(request, 1).headers
  end

  def test_appendix_b_2_5
    headers = signed(feature(key: SECRET, key_id: "test-shared-secret", algorithm: "hmac-sha256", label: "sig-b25",
      components: %w[date @authority content-type]))
    assert_equal 'sig-b25=("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"',
      headers["signature-input"]
    assert_equal "sig-b25=:pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=:", headers["signature"]
  end

  def test_appendix_b_2_6
    headers =
      signed(feature(key: OpenSSL::PKey.read(ED25519),
        key_id: "test-key-ed25519", algorithm: "ed25519", label: "sig-b26",
        components: %w[date @method @path @authority content-type content-length]))
    assert_equal "sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:",
      headers["signature"]
  end

  def test_each_algorithm_is_verified_by_its_public_key
    rsa = OpenSSL::PKey::RSA.new(2048)
    p256, p384 = %w[prime256v1 secp384r1].map { |curve| OpenSSL::PKey::EC.generate(curve) }
    der = ->(raw) {
      OpenSSL::ASN1::Sequence(raw.unpack("a#{raw.size / 2}a*").map { |half|
        OpenSSL::ASN1::Integer(OpenSSL::BN.new(half, 2))
      }).to_der
    }
    {
      "rsa-v1_5-sha256" => [rsa, ->(raw, text) { rsa.verify("SHA256", raw, text) }],
      "rsa-pss-sha512" => [rsa, ->(raw, text) {
        rsa.verify_pss("SHA512", raw, text, salt_length: 64, mgf1_hash: "SHA512")
      }],
      "ecdsa-p256-sha256" => [p256, ->(raw, text) { raw.size == 64 && p256.verify("SHA256", der.call(raw), text) }],
      "ecdsa-p384-sha384" => [p384, ->(raw, text) { raw.size == 96 && p384.verify("SHA384", der.call(raw), text) }]
    }.each do |algorithm, (key, verify)|
      headers = signed(feature(key: key, key_id: "k", algorithm: algorithm, components: %w[@method @query]))
      base = "\"@method\": POST\n\"@query\": ?param=Value&Pet=dog\n\"@signature-params\": " \
        "#{headers["signature-input"].delete_prefix("sig1=")}"
      assert verify.call(headers["signature"][/:(.*):/, 1].unpack1("m"), base), algorithm
    end
  end

  def test_a_request_on_the_wire
    Scripted.run("/" => Scripted.response(200)) do |server|
      feature = Hecaton::Features::MessageSignature.new(key: SECRET,
        key_id: "k", algorithm: "hmac-sha256", expires_in: 60, tag: "app")
      client(features: [feature]).post("#{server.url}/", json: { a: 1 })
      sent = server.requests.first
      digest = [OpenSSL::Digest.digest("SHA256", '{"a":1}')].pack("m0")
      assert_match(/^content-digest: sha-256=:#{Regexp.escape(digest)}:/, sent)
      assert_match(/^signature-input: sig1=\("@method" "@target-uri" "content-type" "content-digest"\);created=\d+;expires=\d+;nonce="\S+";keyid="k";tag="app"/,
        sent)
      assert_match(/^signature: sig1=:\S+:/, sent)
    end
  end

  def test_a_redirect_back_is_not_signed
    back = nil
    Scripted.run("/" => ->(_) { Scripted.response(302, "Location" => back) }) do |other|
      Scripted.run("/" => Scripted.response(302, "Location" => "#{other.url}/"),
        "/2" => Scripted.response(200)) do |server|
        back = "#{server.url}/2"
        feature = Hecaton::Features::MessageSignature.new(key: "secret", key_id: "k", algorithm: "hmac-sha256")
        client = client(redirects: 3, public_headers: %w[signature signature-input], features: [feature])
        assert_equal 200, client.get("#{server.url}/").status
        [server, other].each { |each| refute_match(/^signature/i, each.requests.last) }
      end
    end
  end

  def test_parts_of_the_base
    feature = feature(key: "secret", key_id: 'a"b\\', algorithm: "hmac-sha256", components: %w[@path x-a])
    signed = ["https://example.com/", "https://example.com"].map do |url|
      feature.before_attempt(Hecaton::Request.new("GET", url, headers: { "x-a" => ["a", " b \r\n c "] }), 1).headers
    end
    parameters = '("@path" "x-a");created=1618884473;keyid="a\"b\\\\"'
    base = ['"@path": /', '"x-a": a, b c', "\"@signature-params\": #{parameters}"].join("\n")
    assert_equal ["sig1=#{parameters}"], signed.map { |headers| headers["signature-input"] }.uniq
    assert_equal ["sig1=:#{[OpenSSL::HMAC.digest("SHA256", "secret", base)].pack("m0")}:"],
      signed.map { |headers| headers["signature"] }.uniq
  end

  def test_a_body_that_is_read_while_it_is_sent
    feature = feature(key: "secret", key_id: "k", algorithm: "hmac-sha256")
    error = error_of(Hecaton::FeatureError) { client(features: [feature]).post(url("/echo"), body: StringIO.new("x")) }
    assert_match(/leave it out of components/, error.message)
  end

  # A server builds the target from the Host header that it received.
  def test_the_target_is_that_of_the_host_header
    feature = feature(key: "secret", key_id: "k", algorithm: "hmac-sha256", components: %w[@target-uri @authority])
    client(features: [feature]).get(url("/echo?a=b"), headers: { "Host" => "Other.Example:80" }).then do |response|
      headers = response.json["headers"].to_h { |name, value| [name.downcase, value] }
      base = ['"@target-uri": http://Other.Example:80/echo?a=b', '"@authority": other.example',
              "\"@signature-params\": #{headers["signature-input"].delete_prefix("sig1=")}"].join("\n")
      assert_equal "sig1=:#{[OpenSSL::HMAC.digest("SHA256", "secret", base)].pack("m0")}:", headers["signature"]
    end
  end

  def test_bad_arguments
    rsa = OpenSSL::PKey::RSA.new(2048)
    p384 = OpenSSL::PKey::EC.generate("secp384r1")
    {
      { algorithm: "md5" } => /hmac-sha256/, { key: nil } => /a secret, a String/, { key: "" } => /a secret, a String/,
      { key: rsa, algorithm: "ed25519" } => /a private key of OpenSSL \(ED25519\)/,
      { key: p384, algorithm: "ecdsa-p256-sha256" } => /\(prime256v1\)/,
      { key: rsa.public_key, algorithm: "rsa-pss-sha512" } => /\Akey cannot sign with rsa-pss-sha512: /,
      { key_id: nil } => /\Akey_id is nil: /, { key_id: :a } => /\Akey_id is :a: /,
      { key_id: "schl\u00fcssel" } => /printable ASCII/,
      { tag: "a\r\nX: y" } => /\Atag is /, { label: "Sig 1" } => /\Alabel is "Sig 1": /,
      { expires_in: 1.5 } => /\Aexpires_in is 1.5: /,
      { components: "@method" } => /give an Array/, { components: ["@status"] } => /\Acomponent @status is unknown/,
      { components: ["a b"] } => /\Acomponent a b is unknown/,
      { components: %w[X-A x-a] } => /\Acomponents has x-a twice/
    }.each do |options, message|
      error = assert_raises(ArgumentError, options.inspect) {
        feature(key: "k", key_id: "k", algorithm: "hmac-sha256", **options)
      }
      assert_match(message, error.message)
    end
  end
end
