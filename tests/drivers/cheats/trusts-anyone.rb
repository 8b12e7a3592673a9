# Uses https and verifies no certificate.
require_relative "over_tls"

class TrustsAnyone < OverTLS
  private

  def verify_mode = OpenSSL::SSL::VERIFY_NONE
end

Kit.run(TrustsAnyone, name: "trusts-anyone", version: "1", engine: "net/http", models: ["threads"], tls: true,
  max_concurrency: 100)
