# Hands on JSON in which the value is not where it was.
require_relative "cheat"

class JsonMistaken < Cheat
  def body(socket, length) = super.gsub('"token"', '"tokem"')
end

Cheat.run(JsonMistaken, "json-mistaken")
