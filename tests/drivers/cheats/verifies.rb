# Does not cheat: it verifies certificates, and opens a connection for each request.
require_relative "over_tls"

class Verifies < OverTLS
  private

  def verify_mode = OpenSSL::SSL::VERIFY_PEER

  def perform(_http, url)
    other = open.tap { |one| one.ca_file = @job.ca } # a context of its own: no session to resume
    super(other, url)
  ensure
    shut(other)
  end
end

Kit.run(Verifies, name: "verifies", version: "1", engine: "net/http", models: ["threads"], tls: true,
  keepalive: [false], max_concurrency: 100)
