# Waits for each response as long as it takes, whatever `timeout_ms` says.
require_relative "cheat"

class IgnoresItsTimeLimit < Cheat
  def limit = nil
end

Cheat.run(IgnoresItsTimeLimit, "ignores-its-time-limit")
