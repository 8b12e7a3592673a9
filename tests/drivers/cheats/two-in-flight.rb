# Has two requests in flight where one should be.
require_relative "cheat"

class TwoInFlight < Cheat
  def workers = @job.concurrency + 1
end

Cheat.run(TwoInFlight, "two-in-flight")
