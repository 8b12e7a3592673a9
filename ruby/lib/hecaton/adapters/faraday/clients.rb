# The clients of all adapters: one for each set of settings, so that connections are shared.
require_relative "../client_cache"

class Faraday::Adapter::Hecaton
  # For Adapter.
  module Clients
    # How many clients are kept at most; the one that was used longest ago is closed for another.
    MOST = 64

    @cache = ::Hecaton::ClientCache.new(MOST) do |settings|
      ::Hecaton::Client.new(**settings)
    rescue ArgumentError => error
      Errors.refuse("adapter :hecaton: #{error.message}")
    end

    # The Lease for these settings of Hecaton::Client.new, a frozen Hash. Raises Faraday::Error when one of them is bad.
    def self.of(settings) = @cache.lease(settings)

    # How many there are.
    def self.size = @cache.size
  end
end
