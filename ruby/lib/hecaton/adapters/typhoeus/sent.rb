# A request of a hydra as its batch has it.

module Hecaton::Typhoeus
  # Hands its outcome to the receiver of its way, and has no callbacks. A block would be two more objects for each
  # request.
  class Sent < Hecaton::Pending
    # The Request that the outcome is for. Without one, nobody receives it.
    attr_writer :callback

    # See Hecaton::Pending.
    def call_back = (@kind[2].receiver.deliver(self, @callback, @outcome) if @callback)
  end
end
