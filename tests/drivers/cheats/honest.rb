# Does not cheat: the driver that the others are compared with.
require_relative "cheat"

Cheat.run(Cheat, "honest")
