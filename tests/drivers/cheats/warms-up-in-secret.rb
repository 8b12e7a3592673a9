# Sends a request during `prepare`, which must not send any.
require_relative "cheat"

class WarmsUpInSecret < Cheat
  def initialize(job)
    super
    fetch("#{job.url}1", 0)
  end
end

Cheat.run(WarmsUpInSecret, "warms-up-in-secret")
