# Does not break: is measured to the end beside those that do.
require_relative "../cheats/cheat"

Cheat.run(Cheat, "honest")
