# A feature that signs each attempt by HTTP Message Signatures (RFC 9421).
require "hecaton"
require "openssl"
require_relative "origins"

class Hecaton::Features
  #   key = OpenSSL::PKey.read(File.read("key.pem"))
  #   signature = Hecaton::Features::MessageSignature.new(key: key, key_id: "mine", algorithm: "ed25519")
  #   client = Hecaton::Client.new(timeout: 5, features: [signature])
  #
  # Each attempt is signed anew. A redirect to another scheme, host or port is not signed, nor is
  # a redirect back.
  class MessageSignature
    # Array of Strings: the components that are signed by default.
    COMPONENTS = %w[@method @target-uri content-type content-digest].freeze
    # Hash of names of algorithms (RFC 9421 §3.3): what signs a text with a key.
    ALGORITHMS = {
      "hmac-sha256" => ->(key, text) { OpenSSL::HMAC.digest("SHA256", key, text) },
      "ed25519" => ->(key, text) { key.sign(nil, text) },
      "rsa-v1_5-sha256" => ->(key, text) { key.sign("SHA256", text) },
      "rsa-pss-sha512" => ->(key, text) { key.sign_pss("SHA512", text, salt_length: 64, mgf1_hash: "SHA512") },
      "ecdsa-p256-sha256" => ->(key, text) { MessageSignature.raw(key.sign("SHA256", text), 32) },
      "ecdsa-p384-sha384" => ->(key, text) { MessageSignature.raw(key.sign("SHA384", text), 48) }
    }.freeze

    # The kind of key that each algorithm needs: a curve, or a name of OpenSSL's.
    KINDS = {
      "ed25519" => "ED25519", "rsa-v1_5-sha256" => "rsaEncryption", "rsa-pss-sha512" => "rsaEncryption",
      "ecdsa-p256-sha256" => "prime256v1", "ecdsa-p384-sha384" => "secp384r1"
    }.freeze
    DERIVED = %w[@method @target-uri @authority @scheme @request-target @path @query].freeze
    FIELD = /\A[!#$%&'*+\-.^_`|~0-9a-z]+\z/
    # The forms of a text and of a label (RFC 8941 §3.3.3 and §3.1.2).
    TEXT = /\A[\x20-\x7e]*\z/
    LABEL = /\A[a-z*][a-z0-9_\-.*]*\z/
    private_constant :KINDS, :DERIVED, :FIELD, :TEXT, :LABEL

    # key:: the secret of hmac-sha256 as a String, else a private key, an OpenSSL::PKey::PKey.
    # key_id:: the name by which the server knows the key.
    # algorithm:: one of ALGORITHMS. It is not sent, because the server knows it by the key (RFC 9421 §7.3.6).
    # components:: names of headers, @method, @target-uri, @authority, @scheme, @request-target, @path, @query.
    #   Headers that a request does not have are left out. content-digest is computed (RFC 9530, SHA-256) if the
    #   request has a body and no such header.
    # label:: the name of the signature in both headers. Default "sig1".
    # expires_in:: seconds that the signature is good for, nil for no end.
    # nonce:: whether a random nonce is signed too. Default true.
    # tag:: what the signature is for, nil for none.
    # clock:: what has `call` and returns a Time. Default: Time.now.
    def initialize(key:, key_id:, algorithm:, components: COMPONENTS,
      label: "sig1", expires_in: nil, nonce: true, tag: nil,
      clock: Time.method(:now))
      @sign = ALGORITHMS[algorithm] or
        raise ArgumentError, "algorithm is #{algorithm.inspect}: use one of #{ALGORITHMS.keys.join(", ")}"
      @key = checked_key(key, algorithm)
      @key_id = check(:key_id, key_id, "a String of printable ASCII", TEXT)
      @components = checked_components(components)
      @label = check(:label, label, "a name such as sig1, in lower-case letters and digits", LABEL)
      @expires_in = expires_in && check(:expires_in, expires_in, "an Integer of seconds", Integer)
      @nonce = nonce
      @tag = tag && check(:tag, tag, "a String of printable ASCII", TEXT)
      @clock = clock
    end

    def before_attempt(request, _number) # :nodoc:
      return unless Origins.home?(self, request)

      request = with_digest(request)
      covered = @components.filter_map { |name| value(request, name)&.then { |value| [name, value] } }
      parameters = "(#{covered.map { |name, _| quoted(name) }.join(" ")})#{parameters()}"
      lines = covered.map { |name, value| "#{quoted(name)}: #{value}" }
      base = [*lines, "\"@signature-params\": #{parameters}"].join("\n")
      signature = [@sign.call(@key, base)].pack("m0")
      request.with(headers: { "signature-input" => "#{@label}=#{parameters}",
                              "signature" => "#{@label}=:#{signature}:" })
    end

    # Without the key.
    def inspect = "#<Hecaton::Features::MessageSignature #{@key_id}>"

    # A signature of ECDSA as RFC 9421 §3.3.4 has it: both numbers, one after the other.
    def self.raw(signature, size)
      OpenSSL::ASN1.decode(signature).value.map { |number| number.value.to_s(2).rjust(size, "\0".b) }.join
    end

    private

    # form is a Regexp or a class.
    def check(name, value, expected, form)
      return value if form.is_a?(Regexp) ? value.is_a?(String) && form.match?(value) : value.is_a?(form)

      raise ArgumentError, "#{name} is #{value.inspect}: give #{expected}"
    end

    # The key, if it can sign.
    def checked_key(key, algorithm)
      kind = KINDS[algorithm]
      unless kind ? kind_of(key) == kind : key.is_a?(String) && !key.empty?
        needed = kind ? "a private key of OpenSSL (#{kind})" : "a secret, a String"
        raise ArgumentError, "key is of class #{key.class}: #{algorithm} needs #{needed}"
      end

      try_to_sign(key, algorithm)
      key
    end

    def kind_of(key)
      return unless key.is_a?(OpenSSL::PKey::PKey)

      key.is_a?(OpenSSL::PKey::EC) ? key.group.curve_name : key.oid
    end

    # Raises ArgumentError for a key that cannot sign, such as a public one.
    def try_to_sign(key, algorithm)
      @sign.call(key, "")
    rescue OpenSSL::OpenSSLError, ArgumentError => error
      raise ArgumentError, "key cannot sign with #{algorithm}: #{error.message}"
    end

    def checked_components(names)
      raise ArgumentError, "components is of class #{names.class}: give an Array of names" unless names.is_a?(Array)

      names = names.map { |name| name.to_s.downcase }
      twice = names.tally.find { |_, count| count > 1 }
      raise ArgumentError, "components has #{twice.first} twice" if twice

      unknown = names.find { |name| !DERIVED.include?(name) && !FIELD.match?(name) }
      if unknown
        raise ArgumentError, "component #{unknown} is unknown: give names of headers, or any of #{DERIVED.join(", ")}"
      end

      names
    end

    def with_digest(request)
      return request unless @components.include?("content-digest") &&
                            !request.headers.key?("content-digest") && request.body

      unless request.body.is_a?(String)
        raise ArgumentError,
          "content-digest is signed, and the body is read while it is sent: " \
          "give a String, or leave it out of components"
      end

      digest = [OpenSSL::Digest::SHA256.digest(request.body)].pack("m0")
      request.with(headers: { "content-digest" => "sha-256=:#{digest}:" })
    end

    # RFC 9421 §2.2; a header's lines are joined (§2.1).
    def value(request, name)
      rest = Origins.target(request)
      path, query = rest.split("?", 2)
      case name
      when "@method" then request.http_method
      when "@target-uri" then "#{scheme(request)}://#{Origins.host(request)}#{rest}"
      when "@authority" then authority(request)
      when "@scheme" then scheme(request)
      when "@request-target" then rest
      when "@path" then path.to_s.empty? ? "/" : path
      when "@query" then "?#{query}"
      else
        values = request.headers.get_all(name)
        values.map { |value| value.strip.gsub(/\s*\r?\n\s+/, " ") }.join(", ") if values.any?
      end
    end

    def scheme(request) = request.url[/\A[a-z]+/]

    # The host in lower case, without the scheme's own port.
    def authority(request)
      host = Origins.host(request).downcase
      host.delete_suffix(scheme(request) == "https" ? ":443" : ":80")
    end

    def parameters
      created = @clock.call.to_i
      text = ";created=#{created}"
      text += ";expires=#{created + @expires_in}" if @expires_in
      text += ";nonce=#{quoted([Random.urandom(18)].pack("m0"))}" if @nonce
      text += ";keyid=#{quoted(@key_id)}"
      text += ";tag=#{quoted(@tag)}" if @tag
      text
    end

    def quoted(text) = "\"#{text.gsub(/["\\]/) { |sign| "\\#{sign}" }}\""
  end
end
