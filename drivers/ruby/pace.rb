# When the requests of a `go` at a rate are due, on the clock that times them.
module Kit
  class Pace
    # `start` is on the clock of the day; `due` is a file with an offset in microseconds for each request.
    def initialize(rate:, start:, due: nil, **)
      day = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
      @start = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) + start * 1000 - day
      @rate, @offsets = rate, due && File.readlines(due, chomp: true).map(&:to_i)
    end

    # When the request at this position is due, in nanoseconds.
    def due(place) = @start + (@offsets ? @offsets[place] * 1000 : (place * 1e9 / @rate).to_i)

    # Seconds until then; 0 when it is over.
    def self.left(due) = [(due - Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)) / 1e9, 0].max

    # In a fiber with a scheduler, the others continue meanwhile.
    def self.wait(due)
      while (left = self.left(due)).positive?
        sleep(left)
      end
    end
  end
end
