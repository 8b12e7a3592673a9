# The result of one try of a request.
module Hecaton
  module Call
    # number:: Integer, from 1.
    # began:: Float, seconds from the start of the request.
    # elapsed:: Float, seconds.
    # status:: Integer, nil for none.
    # error:: the exception it ended in, nil for none.
    Try = Struct.new(:number, :began, :elapsed, :status, :error, keyword_init: true)

    # The tries, added to an exception that leaves Retry.
    module Tried
      # Array of Try, in order.
      attr_accessor :tries
    end
  end
end
