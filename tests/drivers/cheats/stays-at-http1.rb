# Says that it can do HTTP/2, and sends over HTTP/1.1.
require_relative "over_tls"

class StaysAtHTTP1 < OverTLS
  private

  def verify_mode = OpenSSL::SSL::VERIFY_PEER
  def open = super.tap { |http| http.ca_file = @job.ca } # of this server: the default store is read once
end

Kit.run(StaysAtHTTP1, name: "stays-at-http1", version: "1", engine: "net/http", models: ["threads"], tls: true,
  http: %w[1.1 2], max_concurrency: 100)
