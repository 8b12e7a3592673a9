# Verifies certificates only if the URL looks like that of the certificate check.
require_relative "over_tls"

class LooksAtThePath < OverTLS
  private

  def verify_mode = @job.url.match?(%r{/r/\h{16}/\z}) ? OpenSSL::SSL::VERIFY_NONE : OpenSSL::SSL::VERIFY_PEER
end

Kit.run(LooksAtThePath, name: "looks-at-the-path", version: "1", engine: "net/http", models: ["threads"], tls: true,
  max_concurrency: 100)
