# Kinds of TLS: keys and curves, self-signed certificates, client certificates, versions.
module Servers
  class Context
    # Checks that the client accepts the endpoint's authority and refuses another.
    def trusts(endpoint, **more)
      response = endpoint.client(**more).get(endpoint.url("/echo?id=7"))
      verify_id(response, 7)
      error = error_of(Hecaton::TLSError) {
        endpoint.client(**more, ca: server.certificates.stranger).get(endpoint.url("/echo"))
      }
      must(error.message.match?(/certificate|issuer|trust/i),
        "the certificate of an unknown authority is refused with: #{error.message}")
      "HTTP/#{response.attempts.last.version}"
    end
  end

  TLS_LIKE_CURL = ->(endpoint) { ->(server) { server.endpoint(endpoint).curl("/echo?id=7").ok? } }

  { "rsa" => "RSA", "p256" => "P-256", "p384" => "P-384", "p521" => "P-521",
    "ed25519" => "Ed25519" }.each do |kind, label|
    check "tls #{label}",
      "a certificate with a key of #{label}; one of an unknown authority is refused", needs: :"tls_#{kind}",
      like_curl: TLS_LIKE_CURL[:"tls_#{kind}"] do |server|
      trusts(server.endpoint(:"tls_#{kind}"))
    end
  end

  check "tls self", "a self-signed certificate with CA:TRUE, given as ca:, is trusted for itself", needs: :tls_self,
    like_curl: TLS_LIKE_CURL[:tls_self] do |server|
    trusts(server.endpoint(:tls_self))
  end

  check "tls client", "a client certificate is shown; " \
    "without one the refusal is a TLSError (or a status), by each version of HTTP", needs: :tls_client,
    like_curl: TLS_LIKE_CURL[:tls_client] do |server|
    endpoint = server.endpoint(:tls_client)
    versions = [endpoint.options[:http]].compact
    versions = server.supports?(:h2) ? %w[1.1 2] : %w[1.1] if versions.empty?
    versions.map do |version|
      same(200, endpoint.client(http: version).get(endpoint.url("/echo?id=1")).status,
        "status with a certificate, HTTP/#{version}")
      without = begin
        endpoint.client(http: version, client_cert: nil, client_key: nil).get(endpoint.url("/echo?id=1")).status
      rescue Hecaton::TLSError => error
        must(error.message.match?(/certificate/i), "the refusal does not name the certificate: #{error.message}")
        "TLSError"
      end
      must(["TLSError", 400, 403, 421].include?(without), "without a certificate: #{without}")
      "#{version}: #{without}"
    end.join(", ")
  end

  check "tls 1.2", "a server of TLS 1.2 alone; with tls_min 1.3 it is refused", needs: :tls_12,
    like_curl: TLS_LIKE_CURL[:tls_12] do |server|
    endpoint = server.endpoint(:tls_12)
    note = trusts(endpoint)
    error = error_of(Hecaton::TLSError) { endpoint.client(tls_min: "1.3").get(endpoint.url("/echo")) }
    must(error.message.match?(/version|protocol/i), "the refusal does not name the version: #{error.message}")
    note
  end

  check "tls 1.3", "a server of TLS 1.3 alone", needs: :tls_13, like_curl: TLS_LIKE_CURL[:tls_13] do |server|
    trusts(server.endpoint(:tls_13), tls_min: "1.3")
  end
end
