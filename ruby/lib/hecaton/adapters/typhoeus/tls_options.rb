# Options of TLS → settings of a client.
require_relative "../ca_folder"

module Hecaton::Typhoeus
  # Included by Plan.
  module TlsOptions
    VERSIONS = %i[default tlsv1 sslv2 sslv3 tlsv1_0 tlsv1_1 tlsv1_2 tlsv1_3].freeze
    private_constant :VERSIONS

    private

    def set_type(name, value)
      only(name, value, value.to_s.casecmp?("PEM"), "Hecaton reads PEM alone: convert the file by openssl.")
    end

    # libcurl's meaning is the oldest version, too. Older ones than 1.2 are never supported.
    def set_sslversion(name, value)
      version = enum(name, value, VERSIONS)
      only(name, value, !%i[sslv2 sslv3].include?(version), "Hecaton supports TLS 1.2 and 1.3 alone.")
      setting(:tls_min, "1.3") if version == :tlsv1_3
    end

    # "sha256//…;sha256//…", as libcurl has it.
    def set_pinnedpublickey(name, value)
      pins = value.to_s.split(";")
      only(name, value, pins.all? { |pin| pin.start_with?("sha256//") },
        "Hecaton takes no file of a key: give its hashes, as \"sha256//…;sha256//…\".")
      setting(:pins, pins.map { |pin| pin.sub("sha256//", "sha256/") })
    end

    # Called after all options, so their order does not matter.
    def set_up_tls
      # If nobody verifies who signed a certificate, the name in it proves nothing. So neither is checked.
      if @verify_peer == false
        setting(:verify, false)
      elsif @verify_host == false
        setting(:verify_hostname, false)
      end
      setting(:ca, authorities) if @ca_file || @ca_path
      setting(:crl, @crl_file) if @crl_file
      setting(:client_cert, @cert) if @cert
      setting(:client_key, @key_password ? decrypted_key : @key) if @key || @key_password
    end

    def authorities
      return @ca_file unless @ca_path

      Hecaton::CAFolder.pem(@ca_path, @ca_file) { |why| Refusals.value(:capath, @ca_path, "It #{why}.") }
    end

    # The key in the file without its passphrase.
    def decrypted_key
      Hecaton::ClientKey.of(@key, @cert, @key_password)
    rescue ArgumentError => error
      Refusals.value(:keypasswd, "[hidden]", "The key in #{@key || @cert} cannot be read with it: #{error.message}.")
    end
  end
end
