# Takes the check value and the length from the end of a gzip body without decoding the body.
require_relative "cheat"

class ReadsTheTailOfGzip < Cheat
  def body(socket, length)
    coded = super
    return coded unless @job.gzip?

    coded.byteslice(-16, 8).rjust(coded.byteslice(-4, 4).unpack1("V"))
  end
end

Cheat.run(ReadsTheTailOfGzip, "reads-the-tail-of-gzip", verify: Kit::DECODING)
