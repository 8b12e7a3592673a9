# Faraday 1 runs on the drop-in by the adapter that Typhoeus brings.
require_relative "drop_in"
require "faraday"
if Faraday::VERSION >= "2"
  warn "skipped: the adapter that Typhoeus brings is for Faraday 1"
  exit
end

class TyphoeusFaradayTest < DropInTest
  def faraday
    Faraday.new(url: url("/"), request: { timeout: 5 }) do |faraday|
      faraday.request :url_encoded
      faraday.adapter :typhoeus
    end
  end

  def test_one_and_many
    assert_includes Faraday::Adapter::Typhoeus.instance_method(:call).source_location.first, "adapters/faraday"
    response = faraday.post("/echo", { a: 1 }, "X-A" => "b")
    assert_equal [200, "a=1"], [response.status, JSON.parse(response.body)["body"]]
    assert_equal "application/json", response.headers["Content-Type"]
    connection = faraday
    responses = []
    connection.in_parallel { 5.times { |number| responses << connection.get("/r/#{number}") } }
    assert_equal [200] * 5, responses.map(&:status)
  end

  # Faraday says the length of a body that is not there.
  def test_requests_without_a_body
    %i[post put patch].each do |verb|
      said = JSON.parse(faraday.public_send(verb, "/echo").body)
      assert_equal ["", "0"], [said["body"], said["headers"].to_h["Content-Length"]], verb
    end
  end

  def test_a_length_that_is_right_and_one_that_is_not
    said = JSON.parse(Typhoeus.post(url("/echo"), body: "abc", headers: { "Content-Length" => "3" }).body)
    assert_equal ["abc", "3"], [said["body"], said["headers"].to_h["Content-Length"]]
    refused(Ethon::Errors::InvalidValue, /says 5.*has 3 bytes/) do
      Typhoeus.post(url("/echo"), body: "abc", headers: { "Content-Length" => 5 })
    end
  end

  def test_errors
    assert_raises(Faraday::TimeoutError) { faraday.get("/delay/5000") { |request| request.options.timeout = 0.2 } }
    assert_raises(Faraday::ConnectionFailed) { faraday.get("http://127.0.0.1:1/") }
  end
end
