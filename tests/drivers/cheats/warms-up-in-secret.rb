# Sends a request while it should only prepare.
require_relative "cheat"

class WarmsUpInSecret < Cheat
  def initialize(job)
    super
    fetch("#{job.url}1", 0)
  end
end

Cheat.run(WarmsUpInSecret, "warms-up-in-secret")
