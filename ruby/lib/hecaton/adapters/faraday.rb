# Faraday's adapter :hecaton, for Faraday 1 and 2.
require "date" # Faraday 1's own :retry uses it and does not load it.
require "faraday"
require_relative "../../hecaton"

module Faraday
  class Adapter
    # conn = Faraday.new(url) { |faraday| faraday.adapter :hecaton }
    class Hecaton < Adapter
    end
  end
end

require_relative "faraday/errors"
require_relative "faraday/ssl"
require_relative "faraday/settings"
require_relative "faraday/clients"
require_relative "faraday/body"
require_relative "faraday/response_env"
require_relative "faraday/delivery"
require_relative "faraday/exchange"
require_relative "faraday/parallel_manager"
require_relative "faraday/adapter"

Faraday::Adapter.register_middleware hecaton: Faraday::Adapter::Hecaton
