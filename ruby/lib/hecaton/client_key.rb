# A private key with a passphrase → one without, as the engine takes it.
module Hecaton
  # For Client.new.
  module ClientKey
    # The key as it was given, or decrypted as PEM. It is the path or text of key, or else of certificate.
    def self.of(key, certificate, password)
      return key if password.nil?
      unless password.is_a?(String)
        raise ArgumentError, "client_key_password is of class #{password.class}: give a String"
      end

      given = key || certificate
      raise ArgumentError, "client_key_password is given without client_key: give both" unless given

      decrypted(given.to_s, password)
    end

    def self.decrypted(given, password)
      require "openssl"
      text = given.include?("-----BEGIN") ? given : File.binread(given)
      OpenSSL::PKey.read(text, password).private_to_pem
    rescue OpenSSL::PKey::PKeyError
      raise ArgumentError, "client_key: it has no private key in PEM that can be read with client_key_password"
    rescue SystemCallError => error
      raise ArgumentError, "client_key: cannot be read: #{error.message}"
    end
    private_class_method :decrypted
  end
end
