# An authority, and the certificates that it signs.
require "openssl"

class Authority
  attr_reader :certificate

  def initialize
    @key = OpenSSL::PKey::EC.generate("prime256v1")
    @name = OpenSSL::X509::Name.parse("/CN=authority #{object_id}")
    @certificate = make(@name, @key, [%w[basicConstraints CA:TRUE]])
  end

  def pem = certificate.to_pem

  # [certificate, key] for names such as "DNS:localhost".
  def sign(names)
    key = OpenSSL::PKey::EC.generate("prime256v1")
    [make(OpenSSL::X509::Name.parse("/CN=leaf"), key, [["subjectAltName", names]]), key]
  end

  # The TLS context of a server that has such a certificate.
  def context(names = "DNS:localhost")
    OpenSSL::SSL::SSLContext.new.tap do |context|
      context.cert, context.key = sign(names)
      yield context if block_given?
    end
  end

  private

  def make(subject, key, extensions)
    certificate = OpenSSL::X509::Certificate.new
    certificate.version = 2
    certificate.serial = rand(1 << 60)
    certificate.subject = subject
    certificate.issuer = @name
    certificate.public_key = key
    certificate.not_before = Time.now - 3600
    certificate.not_after = Time.now + 3600
    factory = OpenSSL::X509::ExtensionFactory.new
    extensions.each do |name, value|
      certificate.add_extension(factory.create_extension(name, value, name == "basicConstraints"))
    end
    certificate.sign(@key, OpenSSL::Digest.new("SHA256"))
  end
end
