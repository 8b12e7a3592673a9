# Does not break: it is measured to the end beside broken drivers.
require_relative "../cheats/cheat"

Cheat.run(Cheat, "honest")
