# A store of responses in memory, with a bound.

class Hecaton::Features::Cache
  # It drops what was used longest ago. Safe with threads.
  class Memory
    # Ruby's own bytes for an entry and for a pair of Strings, besides their contents. With small responses this is
    # the largest part.
    ENTRY = 1024
    PAIR = 120
    private_constant :ENTRY, :PAIR

    # bytes:: at most this many bytes of memory for responses, estimated.
    def initialize(bytes: 64 * 1024 * 1024)
      @most = bytes
      @values = {}
      @sizes = {}
      @total = 0
      @lock = Mutex.new
    end

    # The value under this key, nil for nothing.
    def read(key)
      @lock.synchronize do
        value = @values.delete(key)
        @values[key] = value if value
      end
    end

    # Keeps an Array of entries, unless it is too large.
    def write(key, value)
      size = value.sum { |fields| size_of(fields) } + key.bytesize
      @lock.synchronize do
        drop(key)
        next if size > @most

        @values[key] = value
        @total += @sizes[key] = size
        drop(@values.first.first) while @total > @most
      end
      nil
    end

    # Forgets a key.
    def delete(key)
      @lock.synchronize { drop(key) }
      nil
    end

    # How many bytes are in use.
    def bytes = @lock.synchronize { @total }

    private

    def size_of(fields)
      headers = fields[:headers].sum { |pair| PAIR + pair.sum(&:bytesize) }
      ENTRY + headers +
        fields[:vary].sum { |pair| PAIR + pair.sum { |text| text.to_s.bytesize } } + fields[:body].bytesize
    end

    def drop(key)
      @total -= @sizes.delete(key) || 0
      @values.delete(key)
    end
  end
end
