# The facts that led to an outcome: attempts, redirects, times.
module Hecaton
  # One try. Durations are Floats in seconds. A duration is nil if its phase was not reached or not needed. A reused
  # connection has no resolve, connect and tls; without a limit to wait for there is no queue.
  #
  # - connection: number of the connection, unique within the client; nil when none was had
  # - reused: whether the connection had carried a request before
  # - sent: whether any byte of the request was written
  # - phase: the phase reached last, a Symbol of Native::PHASES
  # - ending: :status (a response came), :failed, :unfinished (given up), or :resent: the request was sent once more on
  #   another connection. The server certainly did nothing with it: either the pooled connection was closed before a
  #   byte was written, or an HTTP/2 server said so. Or the request is idempotent, and its connection ended before a
  #   byte of the response (see reconnect of Client.new).
  # - status: the status code, nil before the head of a response came; with :failed the body did not come whole
  # - version: of HTTP, "1.1" or "2"; nil when the request was not begun
  # - redirects: how many were followed before it
  # - begun, ended: seconds from the start of the request; ended is nil for what was given up
  Attempt = Struct.new(
    :connection, :reused, :sent, :phase, :ending, :status,
    :queue, :resolve, :connect, :tls, :send_time, :first_byte, :read, :version, :redirects, :begun, :ended,
    keyword_init: true
  ) do
    alias_method :reused?, :reused
    alias_method :sent?, :sent

    # For outcomes of two requests: itself, so many seconds later.
    def later(seconds) = dup.tap { |copy| copy.begun += seconds; copy.ended &&= ended + seconds }
  end

  # A redirect that was followed: the requested URL (a String), and its status (an Integer).
  Redirect = Struct.new(:status, :url, keyword_init: true)

  # Where the time of a request went, in seconds as Floats. The phases are those of its last attempt (nil for a phase
  # that was not needed); total covers all attempts, from start to end.
  Timings = Struct.new(
    :queue, :resolve, :connect, :tls, :send_time, :first_byte, :read, :total, keyword_init: true
  )
end
