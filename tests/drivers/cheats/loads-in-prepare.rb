# Loads itself while it gets ready for its first request, which takes 300 ms.
require_relative "cheat"

class LoadsInPrepare < Cheat
  def initialize(job)
    super
    @@loaded ||= sleep(0.3)
  end
end

Cheat.run(LoadsInPrepare, "loads-in-prepare")
