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
end
