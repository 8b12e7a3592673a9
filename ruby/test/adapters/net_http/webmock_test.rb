# WebMock's stubs of Net::HTTP come first, and what it lets through reaches Hecaton where Net::HTTP is replaced.
require_relative "support"
require "webmock"

class NetHTTPWebMockTest < NetHTTPTest
  def setup
    super
    real_server.ledger # Its connection is made before WebMock looks at any.
    Hecaton::NetHTTP.replace!
    WebMock.enable!(only: [:net_http])
    WebMock.disable_net_connect!(allow_localhost: true)
  end

  def teardown
    WebMock.reset!
    WebMock.disable!
    Hecaton::NetHTTP.restore!
    super
  end

  def test_stubs_and_real_requests
    WebMock::API.stub_request(:get, "http://stubbed.example/").to_return(status: 201, body: "stubbed")
    response = Net::HTTP.get_response(URI("http://stubbed.example/"))
    assert_equal %w[201 stubbed], [response.code, response.body]
    assert_raises(WebMock::NetConnectNotAllowedError) { Net::HTTP.get(URI("http://other.example/")) }
    real = Net::HTTP.get_response(URI(url("/bytes/5")))
    assert_equal 5, real.body.bytesize
    refute_nil Hecaton::NetHTTP.outcome(real)
  end

  def test_requests_are_seen_once
    seen = []
    WebMock.after_request { |request, response| seen << [request.uri.path, response.body.bytesize] }
    Net::HTTP.get(URI(url("/bytes/5")))
    Hecaton::NetHTTP.get(URI(url("/bytes/6")))
    Net::HTTP.start(host, port) { |http|
      http.request_get("/bytes/7") { |response| response.read_body { |piece| piece } }
    }
    WebMock::API.stub_request(:get, "http://stubbed.example/").to_return(body: "stubbed")
    assert_equal %w[stubbed stubbed], [Net::HTTP, Hecaton::NetHTTP].map { |http|
      http.get(URI("http://stubbed.example/"))
    }
    assert_equal [["/bytes/5", 5], ["/bytes/6", 6], ["/bytes/7", 7], ["/", 7], ["/", 7]], seen
    assert_equal 2,
      WebMock::RequestRegistry.instance.times_executed(WebMock::RequestPattern.new(:get, "http://stubbed.example/"))
  ensure
    WebMock.reset_callbacks
  end

  # WebMock's adapter for Hecaton is on meanwhile, and leaves to its sister what is its sister's.
  def test_when_the_adapter_for_net_http_is_off_nobody_sees_its_requests
    require "hecaton/webmock"
    WebMock.enable!(except: [:net_http])
    WebMock.disable_net_connect!
    assert_equal 5, Net::HTTP.get(URI(url("/bytes/5"))).bytesize
    assert_equal 5, Net::HTTP.start(host, port) { |http| http.get("/bytes/5").body.bytesize }
    assert_raises(WebMock::NetConnectNotAllowedError) { Hecaton::NetHTTP.get(URI(url("/bytes/5"))) }
    assert_raises(WebMock::NetConnectNotAllowedError) { Hecaton.get(url("/bytes/5"), timeout: 5) }
  end

  def test_a_started_object
    WebMock::API.stub_request(:any, "#{real_server.url}/stubbed").to_return(body: "stubbed")
    Net::HTTP.start(host, port) do |http|
      assert_equal "stubbed", http.get("/stubbed").body
      assert_equal 5, http.get("/bytes/5").body.bytesize
      assert_equal "stubbed", http.post("/stubbed", "").body
    end
  end
end
