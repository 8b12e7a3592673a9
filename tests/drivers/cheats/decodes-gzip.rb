# Does not cheat: it decodes bodies in gzip, and reads the check value at their end.
require "zlib"
require_relative "cheat"

class DecodesGzip < Cheat
  def body(socket, length) = decoded(super)
  def chunks(socket) = decoded(super)

  # The body of the 503 that comes by chance is not compressed.
  def decoded(body) = body.byteslice(0, 2) == "\x1f\x8b".b ? Zlib.gunzip(body) : body
end

Cheat.run(DecodesGzip, "decodes-gzip", verify: Kit::DECODING)
