# The error of Hecaton::NetHTTP for a setting that it cannot honour.
module Hecaton
  class NetHTTP
    # The message names the setting and the reason.
    class Refused < ArgumentError; end
  end
end
