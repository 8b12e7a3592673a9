# Features: a program's own objects that see each request before it is sent, and each outcome before it is returned.
module Hecaton
  # What Client.new takes as features. A feature is any object with one or more of these methods:
  #
  # before_request(request):: called once, before anything is sent. A Request is sent instead, see Request#with; nil is no change.
  # respond(request):: called right after that. A Response or an Error is the outcome, and nothing is sent; nil lets the request pass.
  # before_attempt(request, number):: called before each attempt, from number 1 on: also after a redirect, a retry or when the request
  #   is re-sent. The Request has the URL, method and headers of this attempt, as they go on the wire. One with other
  #   headers is sent instead; nil is no change.
  # after(outcome):: called once, with the Response or Error. Another Response or Error takes its place. outcome.request is the
  #   Request that was sent, whose notes hold what the feature has put there.
  #
  # Features are called in the order of the list, and `after` in the reverse order. If one responds, those behind it are not called.
  # `after` is called for each feature whose turn came, also if the request is cut off: the outcome is a CancelledError then.
  #
  # All methods run in the thread that waits for the request, and the total deadline counts the time that they take, but for `after`. An
  # Error that one raises is the outcome of its request. Any other StandardError makes the outcome a FeatureError with that as its cause.
  #
  # In a batch before_request and respond are called when the batch next waits, and all other requests wait meanwhile.
  class Features
    METHODS = %i[before_request respond before_attempt after].freeze
    private_constant :METHODS

    # The Features in a list, nil for none.
    def self.of(list)
      return if list.nil?
      raise ArgumentError, "features is of class #{list.class}: give an Array of objects" unless list.is_a?(Array)

      list.each { |feature| check(feature) }
      new(list) if list.any?
    end

    def self.check(feature)
      return if METHODS.any? { |name| feature.respond_to?(name) }

      raise ArgumentError, "features: an object of class #{feature.class} has none of the methods #{METHODS.join(", ")}"
    end
    private_class_method :check

    # Array of pairs for each method: the feature, and its place in the list.
    attr_reader :list, :respond_to

    # Whether one wants to see each attempt.
    def attempts? = @attempts

    def initialize(list)
      @list = list.dup.freeze
      @respond_to = METHODS.to_h { |name| [name, list.map { |feature| feature.respond_to?(name) }.freeze] }.freeze
      @attempts = @respond_to[:before_attempt].any?
    end

    # The part of all features in one request; in_parts is whether its response is read in pieces.
    def run(request, builder, in_parts) = FeatureRun.new(self, request, builder, in_parts)
  end

  # The way of one request through the features. Made for each sending.
  class FeatureRun
    # Seconds that hooks may take before they are counted; a measurement is no shorter than this.
    COUNTED = 0.0005
    private_constant :COUNTED

    # Request: the one that is sent, with the changes so far.
    attr_reader :request

    # Response or Error of a feature, nil while there is none.
    attr_reader :given

    def initialize(features, request, builder, in_parts)
      @features = features
      @request = request.prepared(builder)
      @request.in_parts = true if in_parts
      @builder = builder
      @began = FeatureRun.now
      @turns = 0
    end

    # Whether the features have been told of the outcome.
    def done? = @done

    # Seconds of a clock that only goes forward.
    def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    # Asks all features, until one responds. Returns that Response or Error, nil if the request is to be sent.
    def before
      list, known = @features.list, @features.respond_to
      changes, responds = known[:before_request], known[:respond]
      while @turns < list.size && !@given
        at = @turns
        @turns += 1
        @request = changed(list[at], :before_request) { |feature| feature.before_request(@request) } if changes[at]
        @given = response_of(list[at]) if responds[at] && !@given
      end
      count
      @given
    rescue StandardError => error
      @given = failure(error)
    end

    # Tells all features whose turn came, the last one first, of a Response or an Error. Returns the one that takes its place. The
    # second call does nothing.
    def after(outcome)
      return outcome if @done

      @done = true
      outcome = outcome.behind(nil, @spent) if @spent
      outcome = outcome.of(@request)
      list, known = @features.list, @features.respond_to[:after]
      @turns.downto(1) { |turn| outcome = told(list[turn - 1], outcome) if known[turn - 1] }
      outcome.of(nil)
    end

    # Whether a feature wants to see each attempt.
    def attempts? = @features.attempts?

    # For the engine: an attempt is about to be made. Returns the headers to be set, [name, value, …], or nil if the request
    # has failed.
    def before_attempt((number, http_method, url, fields, content))
      options = { headers: fields.each_slice(2).to_a }
      options[:body] = @request.body if content && @request.body
      seen = before = Request.of(http_method, url, options).attempt_of(@request)
      list, known = @features.list, @features.respond_to[:before_attempt]
      list.each_with_index do |feature, at|
        seen = changed(feature, :before_attempt, seen) { feature.before_attempt(seen, number) } if known[at]
      end
      FeatureRun.changes(before, seen)
    rescue StandardError => error
      @failed = failure(error)
      nil
    end

    # For the engine: the Error that a feature has raised in an attempt, with the attempts before it; else the outcome.
    def outcome(outcome)
      return outcome unless @failed && outcome.is_a?(Error)

      failed, @failed = @failed, nil
      failed.dup.in_place_of(outcome)
    end

    # The fields that a feature has changed; a value that is nil leaves the field out.
    def self.changes(before, after)
      return [] if before.equal?(after)

      raise ArgumentError, "before_attempt can change headers alone: use before_request" unless before.same_but_headers?(after)

      kept = before.headers.to_a
      changed = after.headers.reject { |field| kept.include?(field) }
      gone = before.headers.map(&:first) - after.headers.map(&:first)
      (changed + gone.map { |name| [name, nil] }).flatten(1)
    end

    private

    # What a feature made of the Request.
    def changed(feature, name, before = @request)
      @at = [feature, name]
      value = yield feature
      return before if value.nil? || value.equal?(before)
      return value.in_place_of(before) if value.is_a?(Request)

      raise TypeError, "it returned an object of class #{value.class}: let it return a Hecaton::Request or nil"
    end

    def response_of(feature)
      @at = [feature, :respond]
      value = feature.respond(@request)
      return value if value.nil? || value.is_a?(Response) || value.is_a?(Error)

      raise TypeError, "it returned an object of class #{value.class}: let it return a Hecaton::Response, a Hecaton::Error or nil"
    end

    def told(feature, outcome)
      @at = [feature, :after]
      other = feature.after(outcome)
      other.is_a?(Response) || other.is_a?(Error) ? other.of(@request) : outcome
    rescue StandardError => error
      failure(error).of(@request)
    end

    def failure(error)
      return error if error.is_a?(Error)

      feature, name = @at
      FeatureError.new("the feature #{feature.class} raised #{error.class} in #{name}: #{error.message}",
                       phase: :queue, url: RequestLog.asked(@request.url), cause: error)
    end

    # The deadline counts what features took before the request was sent.
    def count
      spent = FeatureRun.now - @began
      return if spent < COUNTED || @given

      @spent = spent
      limit = Client.seconds(@request[:timeout]) || @builder.timeout
      @request = @request.with(timeout: [limit - spent, 0.0].max) if limit
    end
  end
end
