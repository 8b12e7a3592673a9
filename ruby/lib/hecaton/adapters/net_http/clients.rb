# A pool: clients of Hecaton by their settings, shared by objects and threads.
require_relative "../client_cache"

module Hecaton
  class NetHTTP
    # Their connections are the engine's: it gives each request one of the right scheme, host and port, and a child of
    # `fork` new ones. The keys are settings of Hecaton::Client, with :scheme, and :trust (see Trust).
    class Clients < ClientCache
      # most: how many are held. The block returns the number of connections that a new one may have.
      def initialize(most, &connections)
        super(most) { |settings| Clients.make(settings, connections.call) }
      end

      # The client of a key.
      def self.make(settings, connections)
        trust = settings[:trust]
        settings = settings.reject { |name, _| name == :trust || name == :scheme }
        settings[:ca] = Trust.pem(trust) if trust
        Client.new(max_connections: connections, features: NetHTTP.features, **settings)
      end
    end
  end
end
