# Tries a request again, within its total timeout, and reports each try.

module Hecaton::Call
  # The result of one try of a request.
  #
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

  # A middleware with the options of Faraday's own :retry:
  #
  # max:: at most this many tries after the first. Default 3.
  # interval:: seconds before the first of them. Default 1; a longer Retry-After takes precedence.
  # interval_randomness:: the largest share of interval that is added at random to each wait. Default 0.
  # backoff_factor:: the factor by which each further wait grows. Default 1.
  # max_interval:: the longest wait, in seconds; a longer Retry-After ends the tries. Default none.
  # exceptions:: the exceptions after which a request is tried again, an Array of classes or their names. Default
  #   Faraday::ConnectionFailed and Faraday::TimeoutError.
  # methods:: the methods that may be tried again, an Array of Symbols. Default delete, get, head, options, put.
  # retry_if:: called with env and exception (nil after a status) for the other methods. Default: they are not tried
  #   again.
  # retry_statuses:: Array of statuses after which a request is tried again. Default none. If the last try has such a
  #   status too, its response is returned.
  # retry_block:: called before each further try as Faraday's :retry calls it, the exception nil after a status.
  #
  # All tries and waits share the request's timeout. Each try has the time that is left. If the wait before a try
  # would use up that time, the last response is returned instead, or the last error is raised. The tries are an Array
  # of Try, in <code>response.env[:hecaton_tries]</code> and in `tries` of an error. Requests in in_parallel are not
  # tried again, and no request is tried again after on_data was called.
  class Retry < Faraday::Middleware
    # The exceptions after which a request is tried again by default. retry_options adds its own to these.
    EXCEPTIONS = [Faraday::ConnectionFailed, Faraday::TimeoutError].freeze
    # Methods that may be sent again.
    METHODS = %i[delete get head options put].freeze
    DEFAULTS = { max: 3, interval: 1, interval_randomness: 0, backoff_factor: 1, max_interval: nil,
                 exceptions: EXCEPTIONS,
                 methods: METHODS, retry_if: nil, retry_statuses: [], retry_block: nil }.freeze
    private_constant :DEFAULTS

    def initialize(app, options = {})
      super(app)
      unknown = options.keys - DEFAULTS.keys
      raise Faraday::Error,
        "retry: #{unknown.join(", ")} is unknown: there are #{DEFAULTS.keys.join(", ")}" if unknown.any?

      @settings = DEFAULTS.merge(options)
    end

    def call(env) = env.parallel? ? @app.call(env) : Run.new(@app, @settings, env).response # :nodoc:

    # One request with all its tries.
    class Run
      def initialize(app, settings, env)
        @app = app
        @settings = settings
        @env = env
        @body = env[:body]
        @headers = env.request_headers.dup
        @given = env.request.timeout
        @total = @given || Faraday::Adapter::Hecaton::Settings::TOTAL
        @start = Hecaton::Clock.now
        @tries = []
      end

      # The response, after as many tries as it took. Raises the error of the last try if it failed.
      def response
        loop do
          response, error = try
          wait = wait(error, response) if error || listed?(response)
          return error ? raise(tried(error)) : response unless wait

          announce(error, wait)
          sleep(wait)
        end
      ensure
        @env.request.timeout = @given
      end

      private

      def gone = Hecaton::Clock.now - @start

      # Response, or nil and the error. Raises an error after which nothing is tried again.
      def try
        began = gone
        begin_anew
        @env.request.timeout = [@total - began, 0].max
        response = @app.call(@env)
        @env[:hecaton_tries] = @tries
        note(began, response.status, nil)
        response
      rescue StandardError => error
        note(began, nil, error)
        raise tried(error) unless expected?(error)

        [nil, error]
      end

      # Restores the request, because later middlewares have encoded the body and set its type, and removes the
      # response of the previous try.
      def begin_anew
        @env.request_headers = @headers.dup
        @env.status = @env.response = @env.response_headers = @env.response_body = nil
        @env.request_body = @body
      end

      # By class, module, or name of a class, as for Faraday's :retry.
      def expected?(error)
        @settings[:exceptions].any? { |kind| kind.is_a?(Module) ? error.is_a?(kind) : error.class.name == kind.to_s }
      end

      def note(began, status, error)
        @tries << Try.new(number: @tries.size + 1, began: began, elapsed: gone - began, status: status, error: error)
      end

      def listed?(response) = Array(@settings[:retry_statuses]).include?(response.status)

      # Seconds before another try, nil for none.
      def wait(error, response)
        return if @tries.size > @settings[:max] || handed_over? || !again?(error)

        required = response ? retry_after(response) : 0
        return if @settings[:max_interval] && required > @settings[:max_interval]

        wait = [interval, required].max
        wait if gone + wait < @total
      end

      # Whether on_data has received a part of a response, which another try would pass to it again.
      def handed_over? = @env.request.stream_response? && !@env.status.nil?

      def again?(error) = @settings[:methods].include?(@env.method) || @settings[:retry_if]&.call(@env, error)

      def interval
        wait = @settings[:interval] * @settings[:backoff_factor]**(@tries.size - 1)
        wait = [wait, @settings[:max_interval]].compact.min
        wait + rand * @settings[:interval_randomness] * @settings[:interval]
      end

      # Seconds, or a date (RFC 9110 §10.2.3); 0 for none.
      def retry_after(response)
        value = response.headers["Retry-After"].to_s
        return value.to_i if value.match?(/\A\d{1,9}\z/)

        date = Hecaton::Deprecation.sunset(value)
        date ? [date - Time.now, 0].max : 0
      end

      # As Faraday 1 calls it, and as Faraday 2 does.
      def announce(error, wait)
        block = @settings[:retry_block] or return
        return block.call(@env, @settings, @settings[:max] - @tries.size, error) if Faraday::VERSION.to_i < 2

        block.call(env: @env, options: @settings, retry_count: @tries.size - 1, exception: error, will_retry_in: wait)
      end

      def tried(error)
        error.extend(Tried)
        error.tries = @tries
        error
      end
    end
    private_constant :Run
  end
end
