# WebMock's stubs of Net::HTTP come first, and what it lets through goes on to Hecaton where Net::HTTP is replaced.
require_relative "support"
require "webmock"

class NetHTTPWebMockTest < NetHTTPTest
  def setup
    super
    origin.ledger # Its connection is made before WebMock looks at any.
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

  def test_a_started_object
    WebMock::API.stub_request(:any, "#{origin.url}/stubbed").to_return(body: "stubbed")
    Net::HTTP.start(host, port) do |http|
      assert_equal "stubbed", http.get("/stubbed").body
      assert_equal 5, http.get("/bytes/5").body.bytesize
      assert_equal "stubbed", http.post("/stubbed", "").body
    end
  end
end
