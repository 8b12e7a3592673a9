# Works while no clock runs: before each round, it uses forty times the CPU time of its last one.
require_relative "cheat"

class WorksBetweenRounds < Cheat
  SHORT = 0.05 # seconds that a round counts at least
  private_constant :SHORT

  class << self
    attr_accessor :used

    def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  end

  def initialize(job)
    super
    return unless (used = self.class.used)

    enough = self.class.cpu + (40 * [used, SHORT].max)
    nil while self.class.cpu < enough
  end

  def go(round)
    before = self.class.cpu
    super
    self.class.used = self.class.cpu - before
  end
end

Cheat.run(WorksBetweenRounds, "works-between-rounds")
