# Net::HTTP's settings of TLS → those of a client.

class Hecaton::NetHTTP
  # Called by Settings for objects that use TLS.
  module Tls
    # Settings that are nil unless the program sets them, and why each is refused.
    REFUSED = {
      ciphers: "the engine offers the cipher suites of TLS 1.2 and 1.3 that are held to be safe, and no others",
      ssl_timeout: "it is the lifetime of TLS sessions, which the engine decides; the handshake's time is open_timeout",
      verify_callback: "certificates are verified outside of Ruby; cert_store and ca_file say whom to trust",
      verify_depth: "the engine has no limit of its own for chains"
    }.freeze
    # Names and numbers of versions. Versions before 1.2 are never used, so an older min_version means 1.2.
    VERSIONS = {
      "SSL3" => 0x0300, "TLS1" => 0x0301, "TLS1_1" => 0x0302, "TLS1_2" => 0x0303, "TLS1_3" => 0x0304
    }.freeze
    TLS13 = 0x0304
    # Values of ssl_version that mean "the newest that both sides support".
    ANY = %w[SSLv23 TLS TLS_client SSLv23_client].freeze
    private_constant :REFUSED, :VERSIONS, :TLS13, :ANY

    module_function

    # A Hash: verify, verify_hostname, tls_min, client_cert, client_key, and :trust for Clients.
    def of(http)
      REFUSED.each { |name, why| Settings.refuse_setting(name, why) unless http.public_send(name).nil? }
      verify = verify?(http.verify_mode)
      settings = { verify: verify, verify_hostname: http.verify_hostname != false, tls_min: oldest(http) }
        .merge(certificate(http))
      settings[:trust] = Trust.of(http) if verify
      settings
    end

    # VERIFY_NONE is 0. The flags beside VERIFY_PEER are for servers.
    private_class_method def verify?(mode)
      return true if mode.nil?
      return !mode.zero? if mode.is_a?(Integer)

      raise Refused, "verify_mode is #{mode.inspect}: give OpenSSL::SSL::VERIFY_PEER or VERIFY_NONE"
    end

    private_class_method def oldest(http)
      newest = number(:max_version, http.max_version)
      if newest && newest < TLS13
        Settings.refuse_setting(:max_version,
          "the engine always offers TLS 1.3; min_version says how old a version may be")
      end
      number(:min_version, http.min_version) == TLS13 || only_tls13?(http.ssl_version) ? "1.3" : "1.2"
    end

    # ssl_version names one version, and no other may be used. The engine can do that only for TLS 1.3.
    private_class_method def only_tls13?(version)
      name = version.to_s
      return false if version.nil? || ANY.include?(name)
      return true if name == "TLSv1_3"

      Settings.refuse_setting(:ssl_version,
        "#{name.inspect} is one version alone, and the engine always offers TLS 1.3; " \
        "give min_version = :TLS1_2 instead")
    end

    private_class_method def number(name, version)
      return if version.nil? || version == 0

      number = version.is_a?(Integer) ? version : VERSIONS[version.to_s]
      number || raise(Refused, "#{name} is #{version.inspect}: give :TLS1_2 or :TLS1_3")
    end

    private_class_method def certificate(http)
      return {} unless http.cert

      chain = [http.cert, *http.extra_chain_cert].map(&:to_pem).join
      key = http.key or raise Refused, "cert has no key: give http.key too"
      { client_cert: chain, client_key: key.respond_to?(:private_to_pem) ? key.private_to_pem : key.to_pem }
    end
  end
end
