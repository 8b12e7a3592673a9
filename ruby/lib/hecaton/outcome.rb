# How a request ends: in a Response or an Error, which answer to the same questions.
module Hecaton
  # Included by Response and Error: `response` and `error` (one of them nil), `attempts`, `elapsed`, `success?`.
  module Outcome
    # Response, or nil when the request failed.
    def response = nil

    # Error, or nil when there is a response.
    def error = nil

    # Whether there is a response and its status is 2xx.
    def success? = false

    # Returns the response if its status is below 400; else raises StatusError, or the error that there is.
    def raise_for_status = raise(self)
  end
end
