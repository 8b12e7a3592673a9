# Features: a program's own objects that see each request before it is sent, and each outcome before it is returned.
module Hecaton
  # The list that Client.new takes as features. A feature is any object with one or more of these methods:
  #
  # before_request(request):: called once, before anything is sent. A Request is sent instead, see Request#with; nil is
  #   no change.
  # respond(request):: called right after that. A returned Response or Error is the outcome, and nothing is sent. If the
  #   method returns nil, the request is sent.
  # before_attempt(request, number):: called before each attempt, from number 1 on. A redirect, a retry and a re-sent
  #   request are further attempts. The Request has the URL, method and headers of this attempt, as they go on the wire.
  #   One with other headers is sent instead; nil is no change.
  # after(outcome):: called once, with the Response or Error. Another Response or Error replaces it. outcome.request
  #   is the Request that was sent, whose notes hold what the feature has put there.
  #
  # Features are called in the order of the list, and `after` in the reverse order. If one responds, those after it are
  # not called. `after` is called for each feature whose turn came, also if the request is cut off: the outcome is a
  # CancelledError then.
  #
  # All methods run in the thread that waits for the request, and the total deadline counts the time that they take, but
  # for `after`. max_body and raise_for_status hold for a Response of a feature, too. An Error that one raises is the
  # outcome of its request. Any other StandardError makes the outcome a FeatureError with that as its cause.
  #
  # In a batch before_request and respond are called when the batch next waits, and all other requests wait meanwhile.
  class Features
    METHODS = %i[before_request respond before_attempt after].freeze
    private_constant :METHODS

    # The Features in a list, nil for none. The others are the client's settings, nil for the default.
    def self.of(list, max_body = nil, raise_for_status = nil)
      return if list.nil?
      raise ArgumentError, "features is of class #{list.class}: give an Array of objects" unless list.is_a?(Array)

      list.each { |feature| check(feature) }
      new(list, max_body || Native::MAX_BODY, raise_for_status) if list.any?
    end

    private_class_method def self.check(feature)
      return if METHODS.any? { |name| feature.respond_to?(name) }

      raise ArgumentError, "features: an object of class #{feature.class} has none of the methods #{METHODS.join(", ")}"
    end

    # Array of the features; for each method a frozen Array of true and false, nil if no feature has it.
    attr_reader :list, :before_request, :respond, :before_attempt, :after
    # max_body: Integer, the limit of bytes for a body that is held whole. strict: whether a status from 400 on is an
    # error.
    attr_reader :max_body, :strict

    def initialize(list, max_body, strict)
      @list = list.dup.freeze
      @max_body = max_body
      @strict = strict
      @before_request, @respond, @before_attempt, @after =
        METHODS.map { |name|
          list.map { |feature| feature.respond_to?(name) }.then { |known| known.freeze if known.any? }
        }
    end

    # Whether any of the features observes each attempt.
    def attempts? = !@before_attempt.nil?
  end

  # The way of one request through the features. Made for each sending; a feature that does nothing costs no object
  # beside it.
  class FeatureRun # :nodoc: all
    # Seconds that features may take before they are counted.
    COUNTED = 0.0005
    private_constant :COUNTED

    # Request: the one that is sent, with the changes so far.
    attr_reader :request

    # Response or Error of a feature, nil while there is none.
    attr_reader :given

    # Used instead of `new`, which takes five times as long in Ruby 3.1.
    def self.of(features, request) = allocate.load(features, request)

    # Returns itself.
    def load(features, request)
      @features = features
      @request = request
      @turns = 0
      self
    end

    # Whether the features have received the outcome.
    def done? = @turns.negative?

    # Calls all features, until one responds. Returns that Response or Error, nil if the request is to be sent.
    def before
      changes = @features.before_request
      responds = @features.respond
      return turn_all unless changes || responds

      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      list = @features.list
      while (feature = list[at = @turns])
        @turns = at + 1
        name = :before_request
        if changes && changes[at] && !(other = feature.before_request(@request)).nil?
          @request = changed(other, @request)
        end
        name = :respond
        break @given = given_by(other) if responds && responds[at] && !(other = feature.respond(@request)).nil?
      end
      spent = Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
      count(spent) if spent > COUNTED
      @given
    rescue StandardError => error
      @given = failure(error, feature, name)
    end

    # Reports a Response or an Error to all features whose turn came, the last one first. Returns the one that takes its
    # place. The second call does nothing.
    def after(outcome)
      turns = @turns
      return outcome if turns < 0

      @turns = -1
      outcome = outcome.behind(nil, @spent) if @spent
      observers = @features.after or return outcome

      outcome = outcome.of(@request)
      while (turns -= 1) >= 0
        next unless observers[turns]

        begin
          other = (feature = @features.list[turns]).after(outcome)
          outcome = allowed(other).of(@request) if !other.nil? && (other.is_a?(Response) || other.is_a?(Error))
        rescue StandardError => error
          outcome = failure(error, feature, :after).of(@request)
        end
      end
      outcome.of(nil)
    ensure
      # An exception that nobody may rescue, such as an interrupt, has left a feature. The others are still called.
      @turns = turns and after(outcome) if observers && turns > 0
    end

    # Whether a feature observes each attempt.
    def attempts? = @features.attempts?

    # An attempt is about to be made. Returns the headers to be set, [name, value, …], or nil if the
    # request has failed.
    def before_attempt((number, http_method, url, fields, content))
      options = { headers: fields.each_slice(2).to_a }
      options[:body] = @request.body if content && @request.body
      seen = before = Request.of(http_method, url, options).adopt(nil, @request.notes)
      feature = nil
      @features.list.each_with_index do |each, at|
        feature = each
        seen = changed(each.before_attempt(seen, number), seen) if @features.before_attempt[at]
      end
      FeatureRun.changes(before, seen)
    rescue StandardError => error
      @failed = failure(error, feature, :before_attempt)
      nil
    end

    # The Error that a feature has raised in an attempt, with the attempts before it; else the outcome.
    def outcome(outcome)
      return outcome unless @failed && outcome.is_a?(Error)

      failed, @failed = @failed, nil
      failed.dup.in_place_of(outcome)
    end

    # The fields that a feature has changed, with all values of each, for the engine replaces them by name; a value that
    # is nil leaves the field out.
    def self.changes(before, after)
      return [] if before.equal?(after)

      raise ArgumentError,
        "before_attempt can change headers alone: use before_request" unless before.same_but_headers?(after)

      old, new = [before, after].map { |request| request.headers.group_by(&:first) }
      names = (old.keys | new.keys).reject { |name| old[name] == new[name] }
      names.flat_map { |name| new[name]&.flatten(1) || [name, nil] }
    end

    private

    # Where no feature has a method that is called before: counts the turn of each as come.
    def turn_all
      @turns = @features.list.size
      nil
    end

    # The Request as a feature returned it.
    def changed(value, before)
      return before if value.nil? || value.equal?(before)
      return value.in_place_of(before) if value.is_a?(Request)

      raise TypeError, "it returned an object of class #{value.class}: return a Hecaton::Request or nil"
    end

    def given_by(value)
      return allowed(value.dup) if value.is_a?(Response) || value.is_a?(Error) # Others may hold it too.

      raise TypeError,
        "it returned an object of class #{value.class}: let it return a Hecaton::Response, a Hecaton::Error or nil"
    end

    # The outcome that a feature gave, or an Error in its place: for a body that is too large, or a status that is to be
    # an error.
    def allowed(outcome)
      return outcome unless outcome.is_a?(Response)

      outcome = outcome.of(@request).of(nil) # Now it has a URL and a method.
      return too_large(@features.max_body) if outcome.body.bytesize > @features.max_body && !@request.in_parts?

      strict = @request[:raise_for_status]
      outcome.status >= 400 && (strict.nil? ? @features.strict : strict) ? StatusError.new(outcome) : outcome
    end

    def too_large(most)
      url = RequestLog.given(@request.url)
      said = "the body that a feature gave is larger than the allowed #{most} bytes (#{url})"
      BodyError.new(said, phase: :read, reason: :body_too_large, url: url)
    end

    def failure(error, feature, name)
      return error if error.is_a?(Error)

      FeatureError.new("the feature #{feature.class} raised #{error.class} in #{name}: #{error.message}",
        phase: :queue, url: RequestLog.given(@request.url), cause: error)
    end

    # The deadline counts what features took before the request was sent. A response that is given too late is dropped:
    # the engine, to which no time is left, says so.
    def count(spent)
      @spent = spent
      limit = Client.seconds(@request[:timeout]) || @request.context.first.timeout
      return unless limit

      @request = @request.with(timeout: [limit - spent, 0.0].max)
      @given = nil if @given.is_a?(Response) && spent >= limit
    end
  end
end
