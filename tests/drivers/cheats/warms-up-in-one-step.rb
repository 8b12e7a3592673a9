# Does not cheat. Its first requests cost a hundred times as much as later ones, like code that is compiled later.
require_relative "cheat"

class WarmsUpInOneStep < Cheat
  COLD = 30 # requests of a process
  COST = 0.02 # seconds of CPU time
  REQUESTS = [0] # until now

  def fetch(url, index)
    if (REQUESTS[0] += 1) <= COLD
      until_then = cpu + COST
      nil while cpu < until_then
    end
    super
  end

  def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
end

Cheat.run(WarmsUpInOneStep, "warms-up-in-one-step")
