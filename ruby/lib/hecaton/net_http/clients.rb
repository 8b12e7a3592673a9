# A pool: clients of Hecaton by their settings, shared by objects and threads.
module Hecaton
  class NetHTTP
    # A few clients, the one used longest ago closed for another. Their connections are the engine's: it gives each
    # request one of the right scheme, host and port, and a child of `fork` new ones.
    #
    # Looked up without a lock, for the Hash is replaced and never changed.
    class Clients
      # A client, until it is closed for another one.
      class Lease
        # Hecaton::Client; and the Hash that it was made of.
        attr_reader :client, :settings
        # Float, seconds of the monotonic clock, when it was used last; true once it is another's turn.
        attr_accessor :used, :stale

        # For Clients.
        def initialize(client, settings)
          @client = client
          @settings = settings
        end
      end

      # most: how many are kept. The block returns the number of connections that a new one may have.
      def initialize(most, &connections)
        @most = most
        @connections = connections
        @leases = {}.freeze
        @lock = Mutex.new
      end

      # A Lease for these settings: those of Hecaton::Client, :scheme, and :trust (see Trust).
      def lease(settings)
        lease = @leases[settings] || @lock.synchronize { @leases[settings] || add(settings) }
        lease.used = Clock.now
        lease
      end

      # Closes all; requests under way continue to their ends. Returns nil.
      def clear
        leases = @lock.synchronize do
          had = @leases.values
          @leases = {}.freeze
          had
        end
        leases.each { |lease| retire(lease) }
        nil
      end

      # How many there are.
      def size = @leases.size

      # Connections that wait to be used again.
      def idle_connections = @leases.values.sum { |lease| lease.client.idle_connections }

      private

      def add(settings)
        lease = Lease.new(make(settings), settings)
        lease.used = Clock.now
        leases = @leases.merge(settings => lease)
        while leases.size > @most
          oldest = leases.values.min_by(&:used)
          leases.delete(oldest.settings)
          retire(oldest)
        end
        @leases = leases.freeze
        lease
      end

      def make(settings)
        trust = settings[:trust]
        settings = settings.reject { |name, _| name == :trust || name == :scheme }
        settings[:ca] = Trust.pem(trust) if trust
        Client.new(max_connections: @connections.call, features: NetHTTP.features, **settings)
      end

      # A client that is used again begins anew, so its holders are told not to use it.
      def retire(lease)
        lease.stale = true
        lease.client.close
      end
    end
  end
end
