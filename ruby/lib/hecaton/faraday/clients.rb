# The clients of all adapters: one for each set of settings, so that connections are shared.
module Faraday
  class Adapter
    class Hecaton
      # Safe in threads; a client works on both sides of a fork.
      module Clients
        # Most that are kept; the one that was used longest ago is closed for another.
        MOST = 64

        # A client in the cache. It is dropped when another took its place: its holder looks for a new one.
        Entry = Struct.new(:client, :dropped)
        private_constant :Entry

        @lock = Mutex.new
        @entries = {}

        class << self
          # The Entry for these settings of Hecaton::Client.new, a frozen Hash. Raises Faraday::Error when one of them is bad.
          def of(settings)
            @lock.synchronize do
              entry = @entries.delete(settings) || Entry.new(client(settings), false)
              @entries[settings] = entry # At the end: the oldest is the first.
              drop_oldest while @entries.size > MOST
              entry
            end
          end

          # How many there are.
          def size = @lock.synchronize { @entries.size }

          private

          def client(settings)
            ::Hecaton::Client.new(**settings)
          rescue ArgumentError => error
            Errors.refuse("adapter :hecaton: #{error.message}")
          end

          def drop_oldest
            entry = @entries.delete(@entries.each_key.first)
            entry.dropped = true
            entry.client.close
          end
        end
      end
    end
  end
end
