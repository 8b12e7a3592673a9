# A private key with a passphrase → one without, as the engine takes it.
module Hecaton
  # For Client.new.
  module ClientKey # :nodoc: all
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

    private_class_method def self.decrypted(given, password)
      require "openssl"
      what, text = given.include?("-----BEGIN") ? ["the text", given] : [given.inspect, read(given)]
      return given unless text # The engine says why, and shows no path that may be a key.

      OpenSSL::PKey.read(text, password).private_to_pem
    rescue OpenSSL::PKey::PKeyError
      locked = text.include?("ENCRYPTED")
      why = locked ? "a private key that client_key_password does not decrypt" : "no private key that can be read"
      raise ArgumentError, "client_key: #{what} has #{why}"
    end

    # The bytes of a file, nil if it cannot be read.
    private_class_method def self.read(path)
      File.binread(path)
    rescue SystemCallError, ArgumentError # With a NUL in it.
      nil
    end
  end
end
