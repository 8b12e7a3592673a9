# Does not cheat: it verifies certificates, and reads whom to trust once in its life.
require_relative "over_tls"

class TrustsOnce < OverTLS
  def self.ca(job) = @ca ||= File.read(job.ca)

  private

  def verify_mode = OpenSSL::SSL::VERIFY_PEER

  def open
    store = OpenSSL::X509::Store.new
    certificates = self.class.ca(@job).scan(/-+BEGIN.*?END CERTIFICATE-+/m)
    certificates.each { |pem| store.add_cert(OpenSSL::X509::Certificate.new(pem)) }
    super.tap { |http| http.cert_store = store }
  end
end

Kit.run(TrustsOnce, name: "trusts-once", version: "1", engine: "net/http", models: ["threads"], tls: true,
  max_concurrency: 100)
