# Requests of a batch whose features have not been called yet.
module Hecaton
  # For Batch: it stands in for the engine's batch until the request is handed to that. Features are called when the
  # batch waits, so that callbacks (and those that read bodies in parts) are known by then.
  class Deferral
    # Values of an entry: its Pending, its Request, its end of the queue, and whether its body is handed over in
    # pieces. The last is nil if not even its head is. They are in one Array, for there may be many entries.
    VALUES = 4
    private_constant :VALUES

    def initialize
      @entries = []
    end

    # How many wait here.
    def size = @entries.size / VALUES

    # Queues a request, and returns its Pending.
    def add(pending, request, queue)
      queue == :front ? @entries.unshift(pending, request, queue, nil) : @entries.push(pending, request, queue, nil)
      pending
    end

    # As Native::Batch#in_parts.
    def in_parts(pending, pieces)
      at = @entries.size - VALUES
      at -= VALUES until at.negative? || @entries[at].equal?(pending)
      return false if at.negative?

      @entries[at + 3] ||= pieces
      true
    end

    # Yields the values of each entry. It is here until the block has returned.
    def each
      until @entries.empty?
        pending = @entries.first
        yield(*@entries.first(VALUES))
        @entries.first.equal?(pending) ? @entries.shift(VALUES) : remove(pending)
      end
    end

    # Gives up all, and returns them.
    def clear = @entries.slice!(0..).each_slice(VALUES).map(&:first)

    private

    # Requests that the block queued for the front stand before it.
    def remove(pending)
      at = @entries.index { |value| value.equal?(pending) }
      @entries.slice!(at, VALUES) if at
    end
  end
end
