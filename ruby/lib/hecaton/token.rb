# Tokens that a program supplies when a request needs one, and once more when it was refused: bearer as a Proc.
require_relative "pending"

module Hecaton
  # The client's bearer, and the requests that get it: those that would get a String there.
  class TokenSource # :nodoc: all
    ORIGIN = %r{\A[a-z]+://[^/?#]*}i
    LOGIN = %r{\A\s*[a-z]+:[/\\]+[^/\\?#]*@}i
    private_constant :ORIGIN, :LOGIN

    # base:: the client's base_url, nil for none.
    def initialize(code, base)
      @code = code
      @base = base
      @home = origin("") if base
    end

    # The Token of a request without an Authorization of its own; nil for a request that gets no token.
    def token(url, headers)
      return if Token.named?(headers) || LOGIN.match?(url.to_s)

      Token.new(@code) if @base.nil? || origin(url.to_s) == @home
    end

    private

    # The scheme, host and port that a reference leads to. The engine reports an invalid URL.
    def origin(reference)
      Native.resolve(@base, reference)[ORIGIN]
    rescue ArgumentError
      :nowhere
    end
  end

  # The token of one request. If the code takes an argument, it is called with the Response (or StatusError) that
  # refused the token before, nil the first time.
  class Token
    REFUSED = 401
    private_constant :REFUSED

    # The Token of a Request; nil for one with no code to call. source is the client's TokenSource.
    def self.for(source, request)
      given = request.given
      bearer = given[:bearer]
      return if bearer.nil? && source.nil?
      return source.token(request.target, given[:headers]) if bearer.nil? &&
                                                              given[:basic_auth].nil? && given[:digest_auth].nil?

      new(bearer, named?(given[:headers])) if bearer.respond_to?(:call)
    end

    # Whether headers set this field, or forbid it: that takes precedence.
    def self.named?(headers, field = "authorization")
      !headers.nil? && RequestBuilder.pairs(:headers, headers).any? { |name, _| Headers.field(name).casecmp?(field) }
    end

    # idle: whether the code is not to be called.
    def initialize(code, idle = false)
      @code = code
      @idle = idle
      @silent = (code.respond_to?(:arity) ? code.arity : code.method(:call).arity).zero?
    end

    # The first token; nil if none is needed.
    def value = @idle ? nil : @value = checked(call(nil)) # :nodoc:

    # The token to send after this outcome; nil if that stands.
    def renewed(outcome) # :nodoc:
      return if @idle || !outcome.response || !refused?(outcome)

      value = call(outcome.response)
      checked(value) unless value.nil? || value == @value
    end

    # Yields a token, seconds and the reader of the Stream, if there is one. It yields a second time
    # if the first request ends in a 401 and may be sent again.
    def with_token(timeout, repeatable, reader, &request) # :nodoc:
      began = Clock.now
      value = self.value
      left = [timeout - (Clock.now - began), 0.0].max
      return request.call(value, left, reader) if @idle || !repeatable

      first = first(value, left, reader, &request)
      return @result unless first

      value = renewed(first) || (reader ? @value : (return stands(first)))
      second(first, Clock.now - began, value, timeout, reader, &request)
    end

    # Without the token.
    def inspect = "#<Hecaton::Token>"

    private

    # Whether it is the token that was refused: one does not go along with a redirect to another server.
    def refused?(outcome)
      outcome.status == REFUSED &&
        [*outcome.redirects.map(&:url), outcome.url].map { |url| url.to_s[%r{\A[^/]*//[^/?#]*}] }.uniq.size == 1
    end

    def call(refused) = @silent ? @code.call : @code.call(refused)

    def checked(value)
      return value if value.is_a?(String)

      raise ArgumentError, "bearer: the code returned an object of class #{value.class}: return the token as a String"
    end

    # The outcome that refused the token; nil when there is a result.
    def first(value, timeout, reader)
      refused = handed = nil
      looking = reader && lambda do |stream|
        next refused = stream.outcome if refused?(stream)

        handed = true
        reader.call(stream)
      end
      @result = yield(value, timeout, looking)
      refused || (@result if !reader && refused?(@result))
    rescue StatusError => error
      raise if handed || !refused?(error)

      error
    end

    def second(first, spent, value, timeout, reader)
      handed = false
      looking = reader && lambda do |stream|
        handed = true
        reader.call(stream.behind(first, spent))
      end
      result = yield(value, [timeout - spent, 0.0].max, looking)
      reader ? result : result.behind(first, spent)
    rescue Error => error
      raise handed ? error : error.behind(first, spent)
    end

    def stands(first) = first.is_a?(Error) ? raise(first) : first
  end

  # A request of a batch with such a token.
  class TokenPending < Pending # :nodoc: all
    # Yields a token and seconds to be queued with again.
    def renew(token, timeout, &again)
      @token = token
      @timeout = timeout
      @again = again
      self
    end

    # Settles, unless it is queued once more. A request whose response was handed over in parts is not
    # sent again.
    def finish(outcome)
      return super(outcome.dup.behind(@refused, @refused.elapsed)) if @refused # A copy: others hold the last outcome.

      value = @token.renewed(outcome) unless in_parts? || @again.nil?
      return if self.outcome # The program's code has aborted the batch.
      return super unless value

      @again.call(value, [@timeout - outcome.elapsed, 0.0].max)
      @refused = outcome
    end

    # Not before the end.
    def call_back = (super if outcome)
  end
end
