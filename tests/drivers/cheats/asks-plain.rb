# Leaves the JSON job to others: asks for a plain body, which has its token at the end.
require_relative "cheat"

class AsksPlain < Cheat
  def initialize(job)
    job.verify = "tail"
    super
  end
end

Cheat.run(AsksPlain, "asks-plain")
