# Hecaton: many HTTP requests at once, fast and without surprises.
module Hecaton
end

require_relative "hecaton/version"
require_relative "hecaton/native"
require_relative "hecaton/fork"
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
require_relative "hecaton/body_source"
require_relative "hecaton/content"
require_relative "hecaton/request_builder"
require_relative "hecaton/cookies"
require_relative "hecaton/events"
require_relative "hecaton/interception"
require_relative "hecaton/response_builder"
require_relative "hecaton/judge"
require_relative "hecaton/verbs"
require_relative "hecaton/batch"
require_relative "hecaton/many"
require_relative "hecaton/derivation"
require_relative "hecaton/client"

# Loads the adapter for WebMock if that is there already; else it is loaded when it has come. Production has none.
Hecaton::Interception.active?
