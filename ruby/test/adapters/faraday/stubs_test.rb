# Stubs of WebMock and of the gem's own respond to requests through Faraday, each request once.
require "minitest/autorun"
require "hecaton/faraday"
require "webmock/minitest"
require "hecaton/testing/minitest"

class FaradayStubsTest < Minitest::Test
  def connection
    Faraday.new(url: "http://api.test", request: { timeout: 5 }) do |faraday|
      faraday.request :url_encoded
      faraday.adapter :hecaton
    end
  end

  def teardown
    super
    WebMock.reset_callbacks
  end

  def test_webmock
    reported = []
    WebMock.after_request { |request, response| reported << [request.method, request.uri.path, response.status.first] }
    request = stub_request(:post, "http://api.test/users").with(body: { name: "Ada" }, headers: { "X-A" => "1" })
    request.to_return(status: 201, body: "made", headers: { "X-B" => "2" })
    stub_request(:get, "http://api.test/late").to_timeout
    stub_request(:get, "http://api.test/down").to_raise(Errno::ECONNREFUSED)
    response = connection.post("/users", { name: "Ada" }, { "X-A" => "1" })
    assert_equal [201, "made", "2"], [response.status, response.body, response.headers["x-b"]]
    assert_raises(Faraday::TimeoutError) { connection.get("/late") }
    assert_raises(Faraday::ConnectionFailed) { connection.get("/down") }
    assert_raises(WebMock::NetConnectNotAllowedError) { Hecaton::Testing.disable!.then { connection.get("/other") } }
    assert_requested :post, "http://api.test/users", times: 1
    assert_equal [[:post, "/users", 201]], reported
  ensure
    Hecaton::Testing.enable!
  end

  def test_stubs_of_its_own
    stub = Hecaton.stub(:get, %r{\Ahttp://api\.test/})
      .returns({ status: 200, body: "one" }, Hecaton::TimeoutError, { pieces: %w[a b] })
    assert_equal "one", connection.get("/x").body
    assert_raises(Faraday::TimeoutError) { connection.get("/x") }
    pieces = []
    connection.get("/x") { |request| request.options.on_data = ->(piece, *) { pieces << piece } }
    assert_equal %w[a b], pieces
    responses = []
    own = connection
    stub.returns("p")
    own.in_parallel { responses = Array.new(3) { |index| own.get("/#{index}") } }
    assert_equal [%w[p p p], 6], [responses.map(&:body), stub.count]
  end
end
