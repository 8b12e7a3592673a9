# Has half as many requests in flight as `prepare` demands.
require_relative "cheat"

class HalfPool < Cheat
  def workers = (@job.concurrency / 2.0).ceil
end

Cheat.run(HalfPool, "half-pool")
