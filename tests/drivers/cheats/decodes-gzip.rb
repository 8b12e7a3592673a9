# Does not cheat: it decodes bodies in gzip, and reads the check value at their end.
require "zlib"
require_relative "cheat"

class DecodesGzip < Cheat
  def body(socket, length) = @job.gzip? ? Zlib.gunzip(super) : super
  def chunks(socket) = @job.gzip? ? Zlib.gunzip(super) : super
end

Cheat.run(DecodesGzip, "decodes-gzip", verify: Kit::DECODING)
