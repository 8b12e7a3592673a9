# A request of a hydra as its batch has it.

module Hecaton::Typhoeus
  # Hands its outcome to Transfers, and has no callbacks. A block would be two more objects for each request.
  class Sent < Hecaton::Pending
    # Says what receives its outcome, for this Request. Without that nobody does.
    def belong(transfers, request)
      @transfers = transfers
      @callback = request
    end

    # See Hecaton::Pending.
    def call_back = @transfers&.deliver(self, @callback, @outcome)
  end
end
