# Speaks https and looks at no certificate.
require "net/http"
require_relative "../../../drivers/ruby/threads"

class TrustsAnyone < Kit::Threads
  private

  def open
    uri = URI(@job.url)
    Net::HTTP.new(uri.host, uri.port).tap do |http|
      http.use_ssl, http.verify_mode, http.max_retries = uri.scheme == "https", OpenSSL::SSL::VERIFY_NONE, 0
    end
  end

  def ask(http, url)
    response = (http.started? ? http : http.start).get(URI(url).request_uri, @job.headers)
    [response.code.to_i, response.body]
  end

  def shut(http) = (http.finish if http.started?)
end

Kit.run(TrustsAnyone, name: "trusts-anyone", version: "1", engine: "net/http", models: ["threads"], tls: true, max_concurrency: 100)
