# rest-client does the same over Hecaton's drop-in as over Net::HTTP itself.
require_relative "support"
require "rest-client"
require "stringio"
require "tempfile"

class RestClientTest < ReplacedNetHTTPTest
  def failure
    yield
    flunk "nothing was raised"
  rescue RestClient::Exception, SystemCallError, SocketError, OpenSSL::SSL::SSLError => error
    [error.class, error.respond_to?(:http_code) ? error.http_code : error.message]
  end

  def test_requests
    same { reported(RestClient.get(url("/echo"), params: { a: 1, b: "c d" }, accept: :json)) }
    same { reported(RestClient.post(url("/echo"), { a: "1", nested: { b: "2" } })) }
    same { reported(RestClient.put(url("/echo"), '{"a":1}', content_type: :json)) }
    same { reported(RestClient.patch(url("/echo"), "text")) }
    same { reported(RestClient.delete(url("/echo"))) }
    same { RestClient.head(url("/r/1")).headers.slice(:content_length, :content_type) }
    same { reported(RestClient::Resource.new(url("/echo"), user: "u", password: "p")["sub?x"].get) rescue $!.class }
    same { RestClient.get(url("/encoded/gzip/500")).body.bytesize }
  end

  def test_multipart
    Tempfile.create(["upload", ".txt"]) do |file|
      file.write("content")
      file.flush
      same { JSON.parse(RestClient.post(url("/upload"), name: "x", file: File.new(file.path)).body)["bytes"].class }
    end
  end

  def test_statuses_redirects_and_cookies
    same { failure { RestClient.get(url("/status/404")) } }
    same { failure { RestClient.get(url("/status/500")) } }
    same { failure { RestClient.post(url("/status/302?location=/"), "") } }
    same { reported(RestClient.get(url("/redirect/302/2"))) }
    same { RestClient.get(url("/cookies/set?a=1&b=2")).cookies }
    same { RestClient.get(url("/cookies"), cookies: { a: "1" }).body }
  end

  def test_failures
    same {
      failure {
        RestClient::Request.execute(method: :get, url: url("/delay/60000"), read_timeout: 0.3, max_redirects: 0)
      }
    }
    same { failure { RestClient.post(url("/fault/close"), "") } }
    same { failure { RestClient.get("http://nobody.invalid/") }.first }
    assert_equal [RestClient::Exceptions::ReadTimeout], same {
      failure { RestClient::Request.execute(method: :post, url: url("/fault/stall-head"), timeout: 0.3) }.first(1)
    }
  end

  def test_blocks_and_raw_responses
    same {
      RestClient::Request.execute(method: :get, url: url("/bytes/100000"), raw_response: true).then { |raw|
        raw.file.size
      }
    }
    same do
      size = 0
      block = ->(response) { response.read_body { |piece| size += piece.bytesize } }
      RestClient::Request.execute(method: :get, url: url("/bytes/100000"), block_response: block)
      size
    end
    same { RestClient.get(url("/status/404")) { |response, _, _| response.code } }
  end

  def test_tls
    Dir.mktmpdir do |folder|
      real_server = TestServer.new("--tls", "--tls-ca-out", "#{folder}/ca.pem")
      address = "#{real_server.url}/r/1"
      same { RestClient::Request.execute(method: :get, url: address, ssl_ca_file: "#{folder}/ca.pem").code }
      same { RestClient::Request.execute(method: :get, url: address, verify_ssl: false).code }
      assert_equal [RestClient::SSLCertificateNotVerified], same { failure { RestClient.get(address) }.first(1) }
    ensure
      real_server&.stop
    end
  end
end
