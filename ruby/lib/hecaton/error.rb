# The errors of requests: one tree, each error with its facts.
require_relative "outcome"

module Hecaton
  # A request that did not end in a response. Raised by Client#get and its sisters, handed to the
  # callback in a batch. The message holds no query, header or body, but that of a StatusError
  # or a JSONError the body's beginning.
  class Error < StandardError
    include Outcome

    # Symbol: :queue, :resolve, :connect, :tls, :send, :first_byte, :read, or :total for the total deadline.
    attr_reader :phase
    # Symbol: a finer reason than class and phase, such as :certificate_expired; nil if none is known. The page on
    # errors lists all of them.
    attr_reader :reason
    # String: the URL without credentials and query.
    attr_reader :url

    # As a test makes one: what is known of it, with times in seconds.
    def initialize(message = nil, phase: nil, reason: nil, sent: false,
      url: nil, redirects: [], attempts: [], elapsed: 0.0, cause: nil)
      super(message)
      @phase = phase
      @reason = reason
      @sent = sent
      @url = url
      @redirects = redirects
      @cause = cause
      @attempts = attempts
      @elapsed = elapsed
    end

    # What is known of a response that an error is about.
    def self.facts_of(response) # :nodoc:
      { phase: :read, sent: true, url: response.url&.sub(/[?#].*/m, ""), redirects: response.redirects,
        attempts: response.attempts, elapsed: response.elapsed }
    end

    # From the engine, which names the class (ext/hecaton/src/error_classes.rs). The record is decoded when needed.
    def self.from_engine(record, facts)
      return facts if facts.is_a?(Error) # An interceptor's.

      name, phase, sent, url, message, errno, reason = facts
      Hecaton.const_get(name).new(
        message, phase: phase, reason: reason, sent: sent, url: url,
        redirects: Record.redirects(record), attempts: Record.attempts(record), elapsed: Record.elapsed(record),
        cause: errno && SystemCallError.new(nil, errno)
      )
    end

    # Whether any byte of the request left the machine. If not, sending it again is always safe.
    def sent? = @sent

    # Array of Redirect: those that were followed before, in order.
    attr_reader :redirects

    # Exception: the operating system's error, if there was one, as Ruby names it (Errno::ECONNREFUSED and the like).
    # Else Ruby's own cause: the exception that was being handled when this one was raised, or nil.
    def cause = @cause || super

    # Array of Attempt: what was tried, in order.
    attr_reader :attempts

    # Seconds from the start of the request to this error.
    attr_reader :elapsed

    # Itself: every outcome has the methods response and error.
    def error = self

    # Loads what the methods need, so that they work in other Ractors too.
    def freeze
      Library.load_for_responses
      super
    end

    # This error, with the attempts, redirects and time of the outcome that it replaces.
    def in_place_of(other) # :nodoc:
      @attempts = other.attempts
      @redirects = other.redirects
      @elapsed = other.elapsed
      @sent ||= other.sent?
      self
    end

    PATTERN = %i[error message phase reason sent url redirects attempts elapsed cause].freeze
    private_constant :PATTERN

    # For pattern matching: `in {error: Hecaton::TimeoutError, phase: :connect}`. The names are method names: error,
    # message, phase, reason, url, redirects, attempts, elapsed, cause; and sent, which calls sent?.
    def deconstruct_keys(names) = Patterns.keys(self, names, PATTERN)
  end

  # A deadline passed; phase names it.
  class TimeoutError < Error; end

  # The host's name has no address, or the resolver failed.
  class ResolveError < Error; end

  # No connection could be opened.
  class ConnectError < Error; end

  # The two sides could not agree on TLS, for the reason in the message. Examples: an expired or untrusted certificate,
  # a wrong host, a pin, a version, a missing client certificate.
  class TLSError < Error; end

  # The connection broke, or what came is not HTTP.
  class ProtocolError < Error; end

  # The body was cut short, is larger than allowed, or does not fit its Content-Encoding.
  class BodyError < Error; end

  # A redirect that cannot or must not be followed. Only with redirects enabled; else it is a response.
  class RedirectError < Error; end

  # In a batch, in get_all and in each_response: an invalid URL, so nothing was sent. Client#get and its
  # sisters raise InvalidURL for it.
  class URLError < Error; end

  # An invalid URL, so nothing was sent. Raised by Client#get and its sisters.
  class InvalidURL < ArgumentError
    # Symbol: :scheme_unsupported for another scheme than http and https, else nil.
    attr_reader :reason

    def initialize(message = nil, reason: nil)
      super(message)
      @reason = reason
    end
  end

  # A status of 400 or more, when it is to be an error: by raise_for_status, of a response or of a
  # request. It has a response, as JSONError has. Its message has the beginning of the body.
  class StatusError < Error
    EXCERPT = 200
    # Characters of a URL in a message, to which a server may have redirected.
    MOST_OF_A_URL = 500
    private_constant :EXCERPT, :MOST_OF_A_URL

    # Response; its body is empty if it was to be read piece by piece.
    attr_reader :response
    # String: the first 200 characters of the body on one line; empty if it is not text.
    attr_reader :excerpt

    # response is the Response with that status.
    def initialize(response)
      facts = Error.facts_of(response)
      subject = [response.http_method, facts[:url]&.slice(0, MOST_OF_A_URL)].compact.join(" ")
      @excerpt = StatusError.excerpt(response.body)
      said = "the response has the status #{response.status}#{" (#{subject})" unless subject.empty?}"
      said += ": #{@excerpt}" unless @excerpt.empty?
      super(said, **facts)
      @response = response
    end

    # Integer.
    def status = response.status

    # String: the request's method; nil for a response made by hand without one.
    def http_method = response.http_method

    # As the response's methods of these names.
    def redirect? = response.redirect?
    def client_error? = response.client_error?
    def server_error? = response.server_error?

    PATTERN = %i[status response http_method excerpt].freeze
    private_constant :PATTERN

    # As in Error, and status, response, http_method, excerpt.
    def deconstruct_keys(names) = super.merge(Patterns.keys(self, names, PATTERN))

    # The beginning of a body, in UTF-8.
    def self.excerpt(body)
      text = body.byteslice(0, 10 * EXCERPT)
      text.force_encoding(Encoding::UTF_8) if text.encoding == Encoding::BINARY
      text = text.scrub("").encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
      text.include?("\0") ? "" : text.gsub(/(?:[[:space:]]|[[:cntrl:]])+/, " ").strip[0, EXCERPT]
    rescue EncodingError, ArgumentError
      "" # The body has an encoding that Ruby knows only by name.
    end
  end

  # A body that was to be JSON and is not, by Response#json. Like StatusError it has a response, and its message the
  # beginning of the body; its cause says what the parser found wrong.
  class JSONError < Error
    # Response.
    attr_reader :response

    def initialize(response)
      facts = Error.facts_of(response)
      about = ["status #{response.status}", response.content_type&.slice(0, 100), "#{response.body.bytesize} bytes",
               [response.http_method, facts[:url]&.slice(0, 500)].compact.join(" ")]
      excerpt = StatusError.excerpt(response.body)
      known = about.compact.reject(&:empty?).join(", ")
      super("the body is not JSON (#{known})#{": #{excerpt}" unless excerpt.empty?}", **facts)
      @response = response
    end
  end

  # The batch ended before the request did, by an exception or Batch#abort; or the block that reads a response did. For
  # every request that had been started sent? is true, since it may have been sent.
  class CancelledError < Error; end

  # A feature of the client (see Features) raised an exception; cause is that.
  class FeatureError < Error; end

  # The object belongs to the parent process. Examples: a response that was being read there, a batch that ran, or a
  # request that was waited for when a signal handler forked.
  class ForkError < Error; end
end
