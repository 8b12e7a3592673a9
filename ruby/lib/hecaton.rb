# Hecaton: many HTTP requests at once, fast and without surprises.
module Hecaton
end

require_relative "hecaton/version"
require_relative "hecaton/native"
require_relative "hecaton/fibers"
require_relative "hecaton/headers"
require_relative "hecaton/attempt"
require_relative "hecaton/record"
require_relative "hecaton/outcome"
require_relative "hecaton/deprecation"
require_relative "hecaton/answer"
require_relative "hecaton/response"
require_relative "hecaton/error"
require_relative "hecaton/stream"
require_relative "hecaton/request"
require_relative "hecaton/preparation"
require_relative "hecaton/cookies"
require_relative "hecaton/reception"
require_relative "hecaton/verbs"
require_relative "hecaton/batch"
require_relative "hecaton/many"
require_relative "hecaton/client"
