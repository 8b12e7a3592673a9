# What programs do with the objects that they get: they override methods, change what they are given, and copy.
require_relative "both"
require_relative "drop_in"
require "scripted"

class TyphoeusObjectsTest < DropInTest
  # Each prints the same with the original. Requests of a hydra end in any order, so what they print is sorted.
  CASES = {
    "two equal Content-Lengths and callbacks of parts" => %q{
      request = Typhoeus::Request.new(lengths)
      codes = []
      request.on_headers { |response| codes << response.code }
      request.on_progress { |*given| codes << given.first(2) if given.size == 5 && given[1] == 2 }
      p request.run.body, codes.uniq.last },
    "a server that compresses only for what it knows" => %q{
      p Typhoeus.get(codings, accept_encoding: "").body.split(", ").sort }
  }.freeze

  def test_the_same_with_the_original
    lengths = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok"
    codings = ->(head) { Scripted.response(200, {}, head[/^accept-encoding: (.*?)\r$/i, 1]) }
    Scripted.run("/" => lengths, "/c" => codings) do |server|
      Both.compare(CASES, lengths: server.url, codings: "#{server.url}/c").each do |name, (original, dropin)|
        assert_equal original, dropin, name
      end
    end
  end
end
