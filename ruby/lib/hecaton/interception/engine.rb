# The engine that a client uses while there are interceptors: the native one, which calls them before each attempt.
%w[interceptor request failures run stream batch].each { |name| require_relative name }

module Hecaton
  module Interception
    # Has the methods of Native::Client that a request needs. Made for one request or one batch.
    class Engine
      def initialize(native, interceptors)
        @native = native
        @interceptors = interceptors
      end

      # As Native::Client#perform.
      def perform(http_method, url, fields, body, timeout, options)
        run = run(body)
        run.ended(*@native.perform(http_method, url, fields, body, timeout, run.options(options)))
      end

      # As Native::Client#open.
      def open(stream, http_method, url, fields, body, timeout, options)
        run = run(body)
        status, record, rest = @native.open(stream, http_method, url, fields, body, timeout, run.options(options))
        status ? [status, run.own_facts(record), Stream.new(stream, run, status)] : run.ended(status, record, rest)
      end

      # As Native::Client#batch.
      def batch(concurrency, per_origin, rate) = Batch.new(self, @native.batch(concurrency, per_origin, rate))

      # The Run of a request with this body.
      def run(body) = Run.new(@interceptors, body)
    end
  end
end
