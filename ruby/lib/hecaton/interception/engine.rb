# The engine that a client uses while interceptors are active: the interceptors first, and then the real engine.
require_relative "interceptor"
require_relative "request"
require_relative "jar"
require_relative "sender"
require_relative "record"
require_relative "body"
require_relative "failures"
require_relative "redirects"
require_relative "retries"
require_relative "course"
require_relative "stream"
require_relative "batch"

module Hecaton
  module Interception
    # Has the methods of Native::Client that a request needs, and returns values in their form. Made for one request or
    # one batch.
    class Engine
      # settings are the client's, as the real engine takes them.
      def initialize(native, settings, interceptors)
        @native = native
        @settings = settings
        @interceptors = interceptors
      end

      # As Native::Client#perform, whose arguments these are.
      def perform(*arguments)
        return @native.perform(*arguments) if @interceptors.empty?

        course = decided_course(arguments)
        nil until course.run || !course.goes_on?(@native.perform(*course.arguments))
        course.values
      end

      # As Native::Client#open: the third value is what the body is read from.
      def open(stream, *arguments)
        return @native.open(stream, *arguments) if @interceptors.empty?

        course = decided_course(arguments)
        until course.run
          opened = @native.open(stream, *course.arguments)
          return course.tee(opened) unless course.leads_elsewhere?(*opened)
          break unless course.goes_on?(opened, Tee.rest(stream))

          stream = Native::Stream.new
        end
        course.opened
      end

      # As Native::Client#batch.
      def batch(concurrency, per_origin, rate)
        native = @native.batch(concurrency, per_origin, rate)
        @interceptors.empty? ? native : Batch.new(self, native)
      end

      # A request on its way, or nil when its URL is none: then the block is called with record and facts of the error.
      # ArgumentError when something else of it cannot be put on the wire. arguments are those of
      # Native::Client#perform.
      def course(arguments)
        error = refused(*arguments)
        return Course.new(arguments, @native, @settings, @interceptors) unless error

        yield error
        nil
      end

      private

      def decided_course(arguments)
        course(arguments) { |error| raise_refused(error) }.tap { |course| course.predicate = arguments.last && arguments.last[:predicate] }
      end

      # The real engine's outcome for a request that it cannot send. It is asked by queueing the request where none is
      # started.
      def refused(method, url, fields, body, timeout, options)
        probe = @native.batch(nil, nil, nil)
        probe.push(Hecaton::Pending.of([method, probe].freeze, nil, nil), method, url, fields, body, timeout, options)
        probe.clear(ended = [])
        ended[2, 2] unless ended.empty?
      ensure
        probe&.finish
      end

      def raise_refused(error)
        raise ArgumentError, error.last[4].delete_suffix(" (nothing had been sent)")
      end
    end
  end
end
