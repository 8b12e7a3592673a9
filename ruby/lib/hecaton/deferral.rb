# Requests of a batch whose features have not been called yet.
module Hecaton
  # For Batch: it stands in for the engine's batch until the request is handed to that. Features are called when the
  # batch waits, so that callbacks (and those that read bodies in parts) are known by then.
  class Deferral # :nodoc: all
    # Values of an entry: its Pending, whose features have its Request, its end of the queue, and whether its body is
    # handed over in pieces. The last is nil if not even its head is. They are in one Array, for there may be many
    # entries.
    VALUES = 3
    private_constant :VALUES

    def initialize
      @entries = []
      @at = 0 # Where the first entry is that waits here.
    end

    # How many wait here.
    def size = (@entries.size - @at) / VALUES

    # Whether none waits here.
    def empty? = @at == @entries.size

    # Queues a request, and returns its Pending. The engine's batch decides which starts first.
    def add(pending, queue)
      @entries.push(pending, queue, nil)
      pending
    end

    # As Native::Batch#in_parts.
    def in_parts(pending, pieces)
      at = @entries.size - VALUES
      at -= VALUES until at < @at || @entries[at].equal?(pending)
      return false if at < @at

      @entries[at + 2] ||= pieces
      true
    end

    # Yields the values of each entry. The entry stays here until the block has returned.
    def each
      entries = @entries
      while (pending = entries[at = @at])
        yield pending, entries[at + 1], entries[at + 2]
        @at += VALUES if entries[@at].equal?(pending) # Else the block gave up all.
      end
      forget
    end

    # Those that are left.
    def pendings = @entries.drop(@at).each_slice(VALUES).map(&:first)

    # Gives up all, and returns them.
    def clear
      left = pendings
      forget
      left
    end

    private

    def forget
      @entries.clear
      @at = 0
    end
  end
end
