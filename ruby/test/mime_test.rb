# Values that become bodies, and bodies that become values, by media type.
require "test_helper"
require "scripted"

class MIMETest < ServerTest
  def response(type, body)
    Hecaton::Response.new(status: 200, headers: type ? { "content-type" => type } : {}, body: body)
  end

  def test_json_is_known
    assert_equal({ "a" => 1 }, response("application/json; charset=utf-8", '{"a":1}').parse)
    assert_equal [1], response("application/problem+json", "[1]").parse
    assert_equal [1], response("text/plain", "[1]").parse("application/json")
    broken = response("application/json", "{")
    assert_same broken, assert_raises(Hecaton::JSONError) { broken.parse }.response
  end

  def test_a_type_that_is_not_known
    [nil, "text/html", "nonsense"].each do |type|
      assert_match(/register/, assert_raises(ArgumentError) { response(type, "x").parse }.message)
    end
  end

  def test_a_type_of_ones_own
    encode = ->(value) { value.map { |pair| pair.join("=") }.join("\n") }
    Hecaton::MIME.register("Application/X-Lines", encode: encode, decode: ->(text) { text.lines(chomp: true) })
    assert_equal %w[a b], response("application/x-lines", "a\nb\n").parse
    sent = Scripted.run("/" => Scripted.response(200)) do |server|
      client.post("#{server.url}/", body: { a: 1, b: 2 }, headers: { content_type: "application/x-lines" })
      client.post("#{server.url}/", body: { a: 1 }, headers: { content_type: "application/vnd.api+json" })
      server.requests.map { |request| request.split("\r\n\r\n", 2).last }
    end
    assert_equal ["a=1\nb=2", '{"a":1}'], sent
    assert_raises(ArgumentError) { client.post(url("/echo"), body: { a: 1 }) }
    assert_raises(ArgumentError) { Hecaton::MIME.register("x/y", encode: 1) }
  end
end
