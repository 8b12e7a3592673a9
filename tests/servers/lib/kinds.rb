# The kinds of TLS that a server supports, each on a port of its own.
module Servers
  # name: of the endpoint, less tls_; certificate: a kind of Certificates; demands: whether the client must show one;
  # versions: of TLS.
  Kind = Struct.new(:name, :port, :certificate, :key, :both, :demands, :versions, keyword_init: true) do
    def only_12? = versions == ["1.2"]
    def only_13? = versions == ["1.3"]
    def demands? = demands
  end

  # For servers whose configuration can set all of that for each listener.
  module Kinds
    ALL = { "rsa" => {}, "p256" => {}, "p384" => {}, "p521" => {}, "ed25519" => {}, "self" => {},
            "client" => { certificate: "rsa", demands: true },
            "12" => { certificate: "rsa", versions: ["1.2"] },
            "13" => { certificate: "rsa", versions: ["1.3"] } }.freeze

    def kinds
      ALL.filter_map do |name, more|
        next if without_kinds.include?(name)

        certificate = more[:certificate] || name
        Kind.new(name: name, port: port(:"tls_#{name}"),
          certificate: certificates.cert(certificate), key: certificates.key_of(certificate),
          both: certificates.both(certificate), demands: more[:demands], versions: more[:versions] || %w[1.2 1.3])
      end
    end

    # The names of the kinds that this server does not support.
    def without_kinds = []

    # The version of HTTP that is requested of these endpoints; nil leaves it to the client.
    def tls_http = nil

    def tls_endpoints = kinds.to_h { |kind| [:"tls_#{kind.name}", kind.demands? ? demanding(kind) : plain(kind)] }

    private

    def plain(kind) = by_version(kind.port, kind.name == "self" ? certificates.cert("self") : certificates.ca)

    def by_version(port, ca, **more)
      tls_http == "3" ? Endpoint.http3(port, ca, **more) : Endpoint.tls(port, ca, **more)
    end

    def demanding(kind)
      shown = { client_cert: certificates.cert("client"), client_key: certificates.key_of("client") }
      by_version(kind.port, certificates.ca,
        curl: ["--cert", shown[:client_cert], "--key", shown[:client_key]], **shown)
    end
  end
end
