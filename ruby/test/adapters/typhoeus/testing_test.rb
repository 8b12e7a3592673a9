# Hecaton's own stubs respond to the drop-in's requests.
require_relative "drop_in"
require "hecaton/testing"

class TyphoeusTestingTest < DropInTest
  def teardown
    Hecaton::Testing.reset
    super
  end

  def test_stubs
    Hecaton.stub(:get, "http://x.example/") do
      Hecaton::Response.new(status: 201, body: "stubbed", headers: { "a" => "b" })
    end
    hydra = Typhoeus::Hydra.new
    responses = [Typhoeus.get("http://x.example/", timeout: 5)]
    3.times do
      request = Typhoeus::Request.new("http://x.example/", timeout: 5)
      request.on_complete { |response| responses << response }
      hydra.queue(request)
    end
    hydra.run
    found = responses.map { |each| [each.code, each.body, each.headers["A"], each.success?] }
    assert_equal [[201, "stubbed", "b", true]] * 4, found
  end

  # The plan of an earlier request with equal options is not used where a stub intercepts.
  def test_a_stub_that_is_made_after_an_equal_request
    Hecaton::Testing.disable!
    codes = Array.new(2) do
      hydra = Typhoeus::Hydra.new
      code = nil
      hydra.queue(request("/r/1") { |response| code = response.code })
      hydra.run
      Hecaton::Testing.enable!
      Hecaton.stub(:get, url("/r/1")) { Hecaton::Response.new(status: 299) }
      code
    end
    assert_equal [200, 299], codes
  ensure
    Hecaton::Testing.enable!
  end
end
