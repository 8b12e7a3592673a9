# The time that elapses, for measuring.
module Hecaton
  # Beside Time, which jumps when a machine's clock is set.
  module Clock # :nodoc: all
    # Float: seconds of a clock that only goes forward.
    def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
