# A pool: clients of Hecaton by their settings, shared by objects and threads.
require_relative "../client_cache"

class Hecaton::NetHTTP
  # Their connections are the engine's: it gives each request one of the right scheme, host and port, and a child of
  # `fork` new ones. The keys are settings of Hecaton::Client, with :scheme, and :trust (see Trust).
  class Clients < Hecaton::ClientCache
    # most: how many are held. The block returns the number of connections that a new one may have.
    def initialize(most)
      super(most) do |settings|
        ca = Trust.pem(settings[:trust]) if settings[:trust]
        settings = settings.except(:trust, :scheme)
        Hecaton::Client.new(max_connections: yield, features: Hecaton::NetHTTP.features, ca: ca, **settings)
      end
    end
  end
end
