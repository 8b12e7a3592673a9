# Verifies who signed a certificate, and not for whom.
require_relative "over_tls"

class TrustsAnyName < OverTLS
  private

  def verify_mode = OpenSSL::SSL::VERIFY_PEER
  def open = super.tap { |http| http.ca_file, http.verify_hostname = @job.ca, false }
end

Kit.run(TrustsAnyName, name: "trusts-any-name", version: "1", engine: "net/http", models: ["threads"], tls: true,
  max_concurrency: 100)
