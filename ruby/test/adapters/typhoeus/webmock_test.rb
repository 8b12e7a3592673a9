# WebMock's own adapter for Typhoeus stubs the drop-in.
require_relative "drop_in"
require "webmock"

class TyphoeusWebMockTest < DropInTest
  include WebMock::API

  def setup
    super
    WebMock.enable!
    WebMock.disable_net_connect!
  end

  def teardown
    WebMock.reset!
    WebMock::CallbackRegistry.reset
    WebMock.disable!
    super
  end

  def test_stubs_respond
    stub_request(:post, "http://x.example/a?b=1").with(body: "q", headers: { "X-A" => "1" }, basic_auth: %w[me secret])
      .to_return(status: [201, "Made"], body: "hi", headers: { "X" => "y" })
    options = { params: { b: 1 }, body: "q", headers: { "X-A" => 1 }, userpwd: "me:secret" }
    response = Typhoeus.post("http://x.example/a", **options)
    assert_equal [201, "hi", "y", :webmock, true, "Made"],
      [response.code, response.body, response.headers["x"], response.mock, response.success?, response.status_message]
    pattern = WebMock::RequestPattern.new(:post, "http://x.example/a?b=1")
    assert WebMock::RequestRegistry.instance.times_executed(pattern) == 1
  end

  def test_what_is_not_stubbed_raises
    assert_raises(WebMock::NetConnectNotAllowedError) { Typhoeus.get(url("/r/1")) }
    hydra = Typhoeus::Hydra.new
    hydra.queue(request("/r/1"))
    assert_raises(WebMock::NetConnectNotAllowedError) { hydra.run }
  end

  def test_many_in_a_hydra_and_their_callbacks
    stub_request(:get, "http://x.example/").to_return(body: "hi")
    hydra = Typhoeus::Hydra.new
    seen = Hash.new(0)
    500.times do
      request = Typhoeus::Request.new("http://x.example/")
      request.on_headers { |response| seen[response.code] += 1 }
      request.on_body { |chunk| seen[chunk] += 1 }
      request.on_complete { seen[:complete] += 1 }
      hydra.queue(request)
    end
    hydra.run
    assert_equal({ 200 => 500, "hi" => 500, complete: 500 }, seen)
  end

  # WebMock's adapter for Hecaton is on meanwhile, and leaves to its sister what is its sister's.
  def test_when_the_adapter_for_typhoeus_is_off_nobody_sees_its_requests
    WebMock.enable!(except: [:typhoeus])
    stub_request(:any, /.*/).to_return(body: "stubbed")
    assert_equal 5, Typhoeus.get(url("/bytes/5")).body.bytesize
    pieces = []
    hydra = Typhoeus::Hydra.new
    hydra.queue(request("/bytes/6") { |response| pieces << response.body.bytesize })
    hydra.queue(request("/bytes/7").tap { |each| each.on_body { |piece| pieces << piece.bytesize } })
    hydra.run
    assert_equal [6, 7], pieces.sort
    assert_equal "stubbed", Hecaton.get(url("/bytes/5"), timeout: 5).body
  end

  def test_time_outs_and_errors
    stub_request(:get, "http://x.example/t").to_timeout
    stub_request(:get, "http://x.example/e").to_raise(IOError)
    assert Typhoeus.get("http://x.example/t").timed_out?
    assert_raises(IOError) { Typhoeus.get("http://x.example/e") }
  end

  def test_real_requests_are_reported_once
    WebMock.allow_net_connect!
    reported = []
    WebMock.after_request { |signature, response| reported << [signature.method, response.status.first] }
    hydra = Typhoeus::Hydra.new
    hydra.queue(request("/r/1"))
    hydra.run
    request("/status/404", method: :get).run
    pieces = request("/bytes/10")
    pieces.on_body {}
    pieces.run
    assert_equal [[:get, 200], [:get, 404], [:get, 200]], reported
  end
end
