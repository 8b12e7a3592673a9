# Makes a value up instead of looking for it in the JSON.
require_relative "cheat"

class JsonGuessed < Cheat
  def body(socket, length) = super && JSON.generate(token: "00000000", records: []).ljust(length)
end

Cheat.run(JsonGuessed, "json-guessed")
