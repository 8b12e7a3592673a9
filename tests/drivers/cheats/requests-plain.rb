# Avoids the JSON job: requests a plain body, which has its check value at the end.
require_relative "cheat"

class RequestsPlain < Cheat
  def initialize(job)
    job.verify = "tail"
    super
  end
end

Cheat.run(RequestsPlain, "requests-plain")
