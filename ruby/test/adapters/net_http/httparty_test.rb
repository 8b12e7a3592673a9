# HTTParty over Net::HTTP that is replaced does what it does over Net::HTTP.
require_relative "support"
require "httparty"
require "tempfile"

class HTTPartyTest < ReplacedNetHTTPTest
  # As its README begins.
  class Service
    include HTTParty
    format :json
    headers "X-Service" => "yes"
    query_string_normalizer HTTParty::Request::NON_RAILS_QUERY_STRING_NORMALIZER
  end

  def failure
    yield
    flunk "nothing was raised"
  rescue StandardError => error
    error.class
  end

  def test_requests
    same { reported(HTTParty.get(url("/echo"), query: { a: 1, b: [1, 2] })) }
    same { reported(HTTParty.post(url("/echo"), body: { a: "1", nested: { b: "2" } })) }
    same { reported(HTTParty.put(url("/echo"), body: '{"a":1}', headers: { "Content-Type" => "application/json" })) }
    same { reported(HTTParty.patch(url("/echo"), body: "x")) }
    same { reported(HTTParty.delete(url("/echo"), basic_auth: { username: "u", password: "p" })) }
    same { HTTParty.head(url("/r/1")).headers["content-length"] }
    same { HTTParty.options(url("/echo")).code }
    same { Service.get(url("/echo"), query: { list: [1, 2] }).parsed_response.slice("method", "path") }
    same { HTTParty.get(url("/encoded/gzip/500")).body.bytesize }
  end

  def test_multipart_and_files
    Tempfile.create(["upload", ".txt"]) do |file|
      file.write("content")
      file.flush
      same { HTTParty.post(url("/upload"), body: { name: "x", file: File.open(file.path) }).code }
    end
  end

  def test_responses
    same do
      response = HTTParty.get(url("/status/404"))
      [response.code, response.message, response.success?, response.not_found?]
    end
    same { HTTParty.get(url("/redirect/302/2")).then { |response| [response.code, response.request.last_uri.path] } }
    same { HTTParty.get(url("/redirect/302/1"), follow_redirects: false).code }
    same { failure { HTTParty.get(url("/redirect-loop")) } }
    same { HTTParty.get(url("/cookies/set?a=1&b=2")).headers.get_fields("set-cookie") }
    same do
      sizes = []
      HTTParty.get(url("/bytes/50000"), stream_body: true) { |piece| sizes << piece.bytesize }
      sizes.sum
    end
  end

  def test_failures
    same { failure { HTTParty.get(url("/delay/60000"), timeout: 0.3, max_retries: 0) } }
    same { failure { HTTParty.post(url("/fault/close"), body: "") } }
    same { failure { HTTParty.get("http://nobody.invalid/") } }
    Hecaton::NetHTTP.replace!
    assert_raises(Hecaton::NetHTTP::Refused) { HTTParty.get(url("/r/1"), local_port: 1) }
  ensure
    Hecaton::NetHTTP.restore!
  end

  def test_debug_output
    output = +""
    Hecaton::NetHTTP.replace!
    HTTParty.get(url("/r/1"), debug_output: output)
    assert_match(%r{<- "GET /r/1 }, output)
  ensure
    Hecaton::NetHTTP.restore!
  end

  def test_tls
    Dir.mktmpdir do |folder|
      real_server = TestServer.new("--tls", "--tls-ca-out", "#{folder}/ca.pem")
      address = "#{real_server.url}/r/1"
      assert_equal OpenSSL::SSL::SSLError, same { failure { HTTParty.get(address) } }
      same { HTTParty.get(address, verify: false).code }
      # OpenSSL puts this authority into the store that all of HTTParty shares: over Net::HTTP every later request
      # trusts it too.
      same { HTTParty.get(address, ssl_ca_file: "#{folder}/ca.pem").code }
      Hecaton::NetHTTP.replace!
      assert_raises(OpenSSL::SSL::SSLError) { HTTParty.get(address) }
    ensure
      Hecaton::NetHTTP.restore!
      real_server&.stop
    end
  end
end
