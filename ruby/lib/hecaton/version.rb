# The version of the gem; the engine has the same.
module Hecaton
  # String: the version of the gem.
  VERSION = "0.1.0"
end
