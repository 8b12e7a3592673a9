# Does not cheat: http.client takes an interim response other than 100 for the last one.
import cheat

cheat.run(cheat.Cheat, "reads-no-interim")
