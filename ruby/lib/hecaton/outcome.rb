# How a request ends: in a Response or an Error, which have these methods in common.
module Hecaton
  # Included by Response and Error: `response` and `error` (one of them nil), `attempts`, `elapsed`, `success?` and the
  # like.
  module Outcome
    # Response, or nil when the request failed.
    def response = nil

    # Error, or nil when there is a response.
    def error = nil

    # Request: the one that was sent. For features, while they receive the outcome; else nil.
    def request = @request

    # Itself, or a copy, as the outcome of this request.
    def of(request) # :nodoc:
      (@request && request && !@request.equal?(request)) || frozen? ? dup.outcome_of(request) : outcome_of(request)
    end

    # Returns itself.
    def outcome_of(request) # :nodoc:
      @request = request
      self
    end

    # Itself, with the attempts of the request before it, which began so many
    # seconds earlier.
    def behind(earlier, seconds) # :nodoc:
      @attempts = [*earlier&.attempts, *attempts.map { |attempt| attempt.later(seconds) }]
      @elapsed = elapsed + seconds
      self
    end

    # Integer: the status of the response, nil when there is none.
    def status = nil

    # Whether there is a response and its status is 2xx.
    def success? = false

    # Another name of success?.
    def ok? = success?

    # Whether there is a response and its status is 3xx.
    def redirect? = false

    # Whether there is a response and its status is 4xx. A StatusError has one.
    def client_error? = false

    # Whether there is a response and its status is 5xx. A StatusError has one.
    def server_error? = false

    # Returns the response if its status is below 400; else raises StatusError, or the error that there is.
    def raise_for_status = raise(self)
  end
end
