# Does not cheat: what the others are compared with.
require_relative "cheat"

Cheat.run(Cheat, "honest")
