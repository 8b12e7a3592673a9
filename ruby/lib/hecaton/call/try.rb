# What one try of a request came to.
module Hecaton
  module Call
    # number:: Integer, from 1.
    # began:: Float, seconds from the start of the request.
    # elapsed:: Float, seconds.
    # status:: Integer, nil for none.
    # error:: the exception it ended in, nil for none.
    Try = Struct.new(:number, :began, :elapsed, :status, :error, keyword_init: true)

    # What an exception has in addition that leaves Retry.
    module Tried
      # Array of Try, in order.
      attr_accessor :tries
    end
  end
end
