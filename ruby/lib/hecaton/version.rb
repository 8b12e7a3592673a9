# The version of the gem; the engine has the same.
module Hecaton
  VERSION = "0.1.0"
end
