# Requests of a batch whose features have not been asked yet.
module Hecaton
  # For Batch: it stands in for the engine's batch until the request is handed to that. Features are asked when the batch waits, so
  # that callbacks (and what they want to see in parts) are known by then.
  class Deferral
    Entry = Struct.new(:pending, :request, :queue, :pieces)
    private_constant :Entry

    def initialize
      @entries = []
    end

    # How many wait here.
    def size = @entries.size

    # Queues a request, and returns its Pending.
    def add(pending, request, queue)
      entry = Entry.new(pending, request, queue)
      queue == :front ? @entries.unshift(entry) : @entries.push(entry)
      pending
    end

    # As Native::Batch#in_parts.
    def in_parts(pending, pieces)
      entry = @entries.reverse_each.find { |each| each.pending.equal?(pending) } or return false
      entry.pieces ||= pieces
      true
    end

    # Yields each Pending, its Request, its place in the queue, and whether its body is handed over in pieces (nil for not even its
    # head). It is here until the block has returned.
    def each
      until @entries.empty?
        entry = @entries.first
        yield entry.pending, entry.request, entry.queue, entry.pieces
        @entries.delete_if { |each| each.equal?(entry) }
      end
    end

    # Gives up all, and returns them.
    def clear = @entries.slice!(0..).map(&:pending)
  end
end
