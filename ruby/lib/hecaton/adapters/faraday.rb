# Faraday's adapter :hecaton, for Faraday 1 and 2.
require "date" # Faraday 1's own :retry uses it and does not load it.
require "faraday"
require_relative "../../hecaton"

# conn = Faraday.new(url) { |faraday| faraday.adapter :hecaton }
class Faraday::Adapter::Hecaton < Faraday::Adapter
end

# In this order, because some need others while they are loaded.
%w[errors ssl settings clients body response_env exchange parallel_manager adapter early_check].each do |name|
  require_relative "faraday/#{name}"
end

Faraday::Adapter.register_middleware hecaton: Faraday::Adapter::Hecaton
