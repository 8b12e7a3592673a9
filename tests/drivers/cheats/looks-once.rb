# Looks at certificates until it is measured: from the second round of a process on it trusts anyone.
require "net/http"
require_relative "../../../drivers/ruby/threads"

class LooksOnce < Kit::Threads
  @prepared = 0
  class << self
    attr_accessor :prepared
  end

  def initialize(job)
    LooksOnce.prepared += 1
    super
  end

  private

  def open
    uri = URI(@job.url)
    Net::HTTP.new(uri.host, uri.port).tap do |http|
      http.use_ssl, http.max_retries = uri.scheme == "https", 0
      http.verify_mode = LooksOnce.prepared > 2 ? OpenSSL::SSL::VERIFY_NONE : OpenSSL::SSL::VERIFY_PEER
    end
  end

  def ask(http, url)
    response = (http.started? ? http : http.start).get(URI(url).request_uri, @job.headers)
    [response.code.to_i, response.body]
  end

  def shut(http) = (http.finish if http.started?)
end

Kit.run(LooksOnce, name: "looks-once", version: "1", engine: "net/http", models: ["threads"], tls: true, max_concurrency: 100)
