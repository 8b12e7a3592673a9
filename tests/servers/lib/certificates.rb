# The certificates of a run: an authority, the server certificates and the client certificate that it signed, a
# self-signed server certificate, and another authority, which signed none of them.
require "openssl"

module Servers
  class Certificates
    KINDS = %w[rsa p256 p384 p521 ed25519].freeze
    CURVES = { "p256" => "prime256v1", "p384" => "secp384r1", "p521" => "secp521r1" }.freeze
    NAMES = "DNS:localhost,IP:127.0.0.1".freeze

    attr_reader :dir

    def initialize(dir)
      @dir = dir
      @serial = 0
      @authority_key = key("p256")
      @authority = certificate("Hecaton's servers", @authority_key, authority: true)
      save("ca", @authority)
      KINDS.each { |kind| signed(kind, "127.0.0.1", key(kind), usage: "serverAuth", names: NAMES) }
      signed("client", "client", key("p256"), usage: "clientAuth")
      own = key("rsa")
      save("self", certificate("127.0.0.1", own, authority: true, names: NAMES), own)
      save("stranger", certificate("somebody else", stranger = key("p256"), authority: true), stranger)
    end

    def ca = path("ca.pem")
    def stranger = path("stranger.pem")
    def cert(kind = "rsa") = path("#{kind}.pem")
    def key_of(kind = "rsa") = path("#{kind}.key")
    # Certificate and key in one file, as HAProxy and lighttpd require.
    def both(kind = "rsa") = path("#{kind}.both.pem")

    private

    def path(name) = File.join(dir, name)

    def key(kind)
      case kind
      when "rsa" then OpenSSL::PKey::RSA.new(2048)
      when "ed25519" then OpenSSL::PKey.generate_key("ED25519")
      else OpenSSL::PKey::EC.generate(CURVES.fetch(kind))
      end
    end

    def signed(name, subject, own, usage:, names: nil)
      save(name, certificate(subject, own, issuer: @authority, by: @authority_key, usage: usage, names: names), own)
    end

    def certificate(subject, own, issuer: nil, by: own, authority: false, usage: nil, names: nil)
      made = blank(subject, own)
      made.issuer = issuer ? issuer.subject : made.subject
      factory = OpenSSL::X509::ExtensionFactory.new(issuer || made, made)
      made.add_extension(factory.create_extension("basicConstraints", authority ? "CA:TRUE" : "CA:FALSE", true))
      made.add_extension(factory.create_extension("subjectKeyIdentifier", "hash"))
      made.add_extension(factory.create_extension("extendedKeyUsage", usage)) if usage
      made.add_extension(factory.create_extension("subjectAltName", names)) if names
      made.sign(by, by.oid == "ED25519" ? nil : OpenSSL::Digest.new("SHA256"))
    end

    def blank(subject, own)
      OpenSSL::X509::Certificate.new.tap do |made|
        made.version, made.serial = 2, @serial += 1
        made.subject = OpenSSL::X509::Name.new([["CN", subject]])
        made.public_key = own
        made.not_before, made.not_after = Time.now - 3600, Time.now + 86_400
      end
    end

    def save(name, made, own = nil)
      File.write(path("#{name}.pem"), made.to_pem)
      return unless own

      text = own.private_to_pem
      File.write(path("#{name}.key"), text)
      File.write(path("#{name}.both.pem"), made.to_pem + text)
      # Servers that start as root read these files as another user.
      [path("#{name}.key"), path("#{name}.both.pem")].each { |file| File.chmod(0o644, file) }
    end
  end
end
