# Counts requests that it never sent.
require_relative "cheat"

class CountsWithoutSending < Cheat
  def fetch(_url, _index) = [200, "0" * 133]
end

Cheat.run(CountsWithoutSending, "counts-without-sending")
