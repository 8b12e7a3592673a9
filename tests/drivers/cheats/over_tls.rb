# A client over TLS, by Net::HTTP in threads. Its users differ in how they verify certificates.
require "net/http"
require_relative "../../../drivers/ruby/threads"

class OverTLS < Kit::Threads
  private

  def open
    uri = URI(@job.url)
    Net::HTTP.new(uri.host, uri.port).tap do |http|
      http.use_ssl, http.verify_mode, http.max_retries = uri.scheme == "https", verify_mode, 0
    end
  end

  def perform(http, url)
    response = (http.started? ? http : http.start).get(URI(url).request_uri, @job.headers)
    [response.code.to_i, response.body]
  end

  def shut(http) = (http.finish if http.started?)
end
