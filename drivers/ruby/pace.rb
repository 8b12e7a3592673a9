# When the requests of a `go` at a rate are due, on the clock that times them.
module Kit
  class Pace
    # `start` is on the clock of the day; `due` is a file with an offset in microseconds for each request.
    def initialize(rate:, start:, due: nil, **)
      day = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
      @start = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) + start * 1000 - day
      @rate, @offsets = rate, due && File.readlines(due, chomp: true).map(&:to_i)
    end

    # When the request at this place is due, in nanoseconds.
    def due(place) = @start + (@offsets ? @offsets[place] * 1000 : (place * 1e9 / @rate).to_i)

    def self.wait(due)
      while (left = due - Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)).positive?
        sleep(left / 1e9)
      end
    end
  end
end
