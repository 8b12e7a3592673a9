# Makes settings of a Hecaton::Client from Faraday's ssl options. Unsupported options are refused by name.
require_relative "../ca_folder"

class Faraday::Adapter::Hecaton
  # Takes Faraday::SSLOptions of any version.
  module Ssl
    VERSIONS = { "1" => "1.0", "11" => "1.1", "12" => "1.2", "13" => "1.3" }.freeze
    # Why an option is refused, and what to give instead.
    REFUSED = {
      cert_store: "its certificates cannot be read out of it: give ca_file, or a PEM text as the adapter's option ca",
      certificate: "it is for Excon alone: give client_cert",
      private_key: "it is for Excon alone: give client_key",
      verify_depth: "the length of a chain cannot be limited: leave it out",
      hostname: "the name is always that of the URL: leave it out",
      ciphers: "the ciphers are those of rustls, all of them safe: leave it out"
    }.freeze
    private_constant :VERSIONS, :REFUSED

    module_function

    # The settings for these options. Raises Faraday::Error for an option that is refused.
    def settings(ssl)
      return {} unless ssl

      REFUSED.each { |name, why| refuse(name, why) if value(ssl, name) }
      verify = verify(ssl)
      check_newest(ssl)
      { verify: verify, verify_hostname: (false if value(ssl, :verify_hostname) == false), ca: authorities(ssl),
        client_cert: pem(ssl.client_cert), client_key: pem(ssl.client_key), tls_min: oldest(ssl) }.compact
    end

    private_class_method def refuse(name, why) = Errors.refuse("ssl: #{name} is not supported: #{why}")

    # An option that this version of Faraday may not have.
    private_class_method def value(ssl, name) = (ssl[name] if ssl.members.include?(name))

    # nil without a setting. verify_mode takes precedence, as with Net::HTTP. Its numbers are OpenSSL's: 0 is
    # none, 1 peer.
    private_class_method def verify(ssl)
      mode = ssl.verify_mode
      return ssl.verify if mode.nil?
      return false if mode == 0
      return true if mode == 1 || mode == 3

      refuse(:verify_mode, "#{mode.inspect} is neither VERIFY_PEER nor VERIFY_NONE")
    end

    # Only TLS 1.2 and 1.3 are supported, and 1.3 cannot be disabled.
    private_class_method def check_newest(ssl)
      newest = version(:max_version, ssl.max_version)
      refuse(:max_version, "the newest version cannot be limited to #{newest}") unless [nil, "1.3"].include?(newest)

      only = version(:version, ssl.version)
      refuse(:version, "it cannot be limited to one version: give min_version") unless [nil, "1.3"].include?(only)
    end

    # A minimum of 1.2 or less changes nothing.
    private_class_method def oldest(ssl)
      "1.3" if [version(:min_version, ssl.min_version), version(:version, ssl.version)].include?("1.3")
    end

    # "1.2" and the like, nil for any. Takes :TLSv1_2, "TLS1_2", OpenSSL::SSL::TLS1_2_VERSION.
    private_class_method def version(name, given)
      case given
      when nil, :SSLv23, "SSLv23", :TLS, "TLS" then nil
      when 0x0300..0x0304 then "1.#{given - 0x0301}"
      else
        digits = given.to_s[/\ATLSv?(1(?:[_.]?[0-3])?)(?:_VERSION)?\z/, 1]
        refuse(name, "#{given.inspect} is not a version of TLS: give one such as :TLS1_2") unless digits
        VERSIONS.fetch(digits.delete("_."), "1.0")
      end
    end

    # The path of one file, or the joined PEM texts of several files.
    private_class_method def authorities(ssl)
      return ssl.ca_file unless ssl.ca_path

      ::Hecaton::CAFolder.pem(ssl.ca_path, ssl.ca_file) { |why| refuse(:ca_path, "#{ssl.ca_path} #{why}") }
    end

    # A path or a PEM text unchanged; for an object of OpenSSL its PEM text.
    private_class_method def pem(given) = given.respond_to?(:to_pem) ? given.to_pem : given
  end
end
