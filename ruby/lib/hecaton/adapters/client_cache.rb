# Clients by their settings, for adapters: those of the same settings share connections.

# A few clients, the one used longest ago closed for another. Safe in threads, and on both sides of a fork, as clients
# are. Looked up without a lock, because the Hash is replaced and never changed.
class Hecaton::ClientCache
  # A client that is kept, until it is closed for another one.
  #
  # client:: Hecaton::Client.
  # key:: what it is found by.
  # used:: Float, seconds of the monotonic clock, at its last use.
  # stale:: true once it is closed for another one.
  Lease = Struct.new(:client, :key, :used, :stale)

  # most: how many are kept. The block makes the client of a key.
  def initialize(most, &make)
    @most = most
    @make = make
    @leases = {}.freeze
    @lock = Mutex.new
  end

  # A Lease for this key. Its holder takes another one when it is stale: a client that is used again begins anew.
  def lease(key)
    lease = @leases[key] || @lock.synchronize { @leases[key] || add(key) }
    lease.used = Hecaton::Clock.now
    lease
  end

  # Closes all; requests under way continue to their ends. Returns nil.
  def clear
    had = @lock.synchronize { @leases.values.tap { @leases = {}.freeze } }
    had.each { |lease| retire(lease) }
    nil
  end

  # How many there are.
  def size = @leases.size

  # Connections that wait to be used again.
  def idle_connections = @leases.values.sum { |lease| lease.client.idle_connections }

  private

  def add(key)
    lease = Lease.new(@make.call(key), key, Hecaton::Clock.now)
    leases = @leases.merge(key => lease)
    while leases.size > @most
      oldest = leases.values.min_by(&:used)
      leases.delete(oldest.key)
      retire(oldest)
    end
    @leases = leases.freeze
    lease
  end

  def retire(lease)
    lease.stale = true
    lease.client.close
  end
end
