# An Array in Typhoeus' params is an Array again behind the middleware.
require "rack"
require_relative "drop_in"

class TyphoeusParamsDecoderTest < DropInTest
  def params(query)
    found = nil
    application = Rack::Typhoeus::Middleware::ParamsDecoder.new(->(env) { found = Rack::Request.new(env).params })
    application.call({ "REQUEST_METHOD" => "GET", "QUERY_STRING" => query, "rack.input" => StringIO.new })
    found
  end

  def test_arrays_come_back
    sent = { a: %w[x y z], b: { c: [{ d: "1" }, { d: "2" }] }, e: { "1" => "one" } }
    query = Typhoeus::Request.new("http://x/", params: sent).url.split("?").last
    assert_equal({ "a" => %w[x y z], "b" => { "c" => [{ "d" => "1" }, { "d" => "2" }] }, "e" => { "1" => "one" } },
      params(query))
  end

  def test_by_itself
    helper = Object.new.extend(Rack::Typhoeus::Middleware::ParamsDecoder::Helper)
    assert_equal({ x: %w[b a] }, helper.decode({ x: { "1" => "a", "0" => "b" } }))
    assert_equal({ x: { "0" => 1, "y" => 2 } }, helper.decode({ x: { "0" => 1, "y" => 2 } }))
  end
end
