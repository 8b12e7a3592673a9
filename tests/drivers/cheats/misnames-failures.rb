# Reports kinds of failures that did not happen.
require_relative "cheat"

class Kit::Round
  def reply = { done: @done, errors: 0,
                errors_by: { "timeout" => 18_446_744_073_709_551_615, "timed out" => 1 }, bytes: @bytes,
                sum: @sum & 0xffffffff, lat_us: @latencies.to_a }
end

Cheat.run(Cheat, "misnames-failures")
