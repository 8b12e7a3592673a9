# A feature that stops requests to a server for a while after it has failed several times in a row.
require "hecaton"

module Hecaton
  # The circuit breaker of a client refuses a request, because its server has failed. Nothing was sent.
  class CircuitOpenError < Error; end

  class Features
    #   breaker = Hecaton::Features::CircuitBreaker.new(failures: 5, cooldown: 30)
    #   client = Hecaton::Client.new(timeout: 5, features: [breaker])
    #   breaker.stats # {"https://api.example:443" => {state: :open, failures: 5, refused: 12}}
    #
    # Each origin (scheme, host and port) has a circuit. It is closed at first, and open after a number of failures in a
    # row: then each attempt ends in a CircuitOpenError at once. After the cool-down one request is let through (half
    # open): a success closes the circuit, a failure opens it again. It is safe with threads; clients may share one.
    class CircuitBreaker
      Circuit = Struct.new(:failures, :opened, :trial, :refused)
      # Failures that say nothing about the server.
      INNOCENT = [CircuitOpenError, CancelledError, URLError, FeatureError, RedirectError, ForkError].freeze
      private_constant :Circuit, :INNOCENT

      # failures:: how many in a row open the circuit.
      # cooldown:: seconds until one request is let through.
      # most:: how many origins are remembered at most: those that failed most recently.
      # failure:: what has `call`, and says of an outcome whether it is a failure. Default: errors, and a status of 500
      #   or more.
      def initialize(failures: 5, cooldown: 30, most: 1000, failure: nil)
        { failures: failures, most: most }.each { |name, value|
          check(name, value, "an Integer of at least 1", value.is_a?(Integer) && value >= 1)
        }
        check(:cooldown, cooldown, "a number of seconds from 0 on",
          cooldown.is_a?(Numeric) && cooldown.real? && cooldown >= 0)
        check(:failure, failure, "an object with call", failure.nil? || failure.respond_to?(:call))
        @most_failures = failures
        @cooldown = cooldown
        @most = most
        @failure = failure || ->(outcome) { outcome.server_error? || !(outcome.response || outcome.is_a?(StatusError)) }
        @circuits = {}
        @lock = Mutex.new
      end

      # Raises CircuitOpenError.
      def before_attempt(request, _number) # :nodoc:
        origin = request.origin
        (request.notes[self] ||= []) << origin
        return if @circuits.empty? || closed?(origin, request)

        failures = @circuits[origin]&.failures
        raise CircuitOpenError.new("the circuit of #{origin} is open after #{failures} failures in a row",
          phase: :queue, url: request.url[/\A[^?]*/])
      end

      def after(outcome) # :nodoc:
        request = outcome.request
        *earlier, last = request.notes.delete(self)
        return if last.nil? && outcome.response # Another feature gave it, so it says nothing about a server.

        last ||= Request.origin_of(outcome.url || request.url)
        (earlier - [last]).each { |origin| succeeded(origin) } # Their responses were redirects.
        count(last, outcome)
        nil
      end

      # Hash of origins that have failed: state (:closed, :open or :half_open), failures in a row, and how many attempts
      # were refused.
      def stats
        @lock.synchronize do
          @circuits.transform_values { |circuit| { state: state(circuit), **circuit.to_h.slice(:failures, :refused) } }
        end
      end

      private

      def check(name, value, expected, good)
        raise ArgumentError, "#{name} is #{value.inspect}: give #{expected}" unless good
      end

      # Counts the outcome for the server of the last attempt.
      def count(origin, outcome)
        return if INNOCENT.any? { |kind| outcome.is_a?(kind) }

        @failure.call(outcome) ? failed(origin) : succeeded(origin)
      ensure
        release(origin, outcome.request) # Also if that code raises.
      end

      def succeeded(origin) = (@lock.synchronize { @circuits.delete(origin) } if @circuits.key?(origin))

      def state(circuit)
        return :closed unless circuit.opened

        Clock.now - circuit.opened < @cooldown ? :open : :half_open
      end

      def closed?(origin, request)
        @lock.synchronize do
          circuit = @circuits[origin]
          case circuit ? state(circuit) : :closed
          when :closed then true
          when :half_open then trial?(circuit, request) || refuse(circuit)
          else refuse(circuit)
          end
        end
      end

      # One request at a time; one that never ended is forgotten after another cool-down.
      def trial?(circuit, request)
        notes, since = circuit.trial
        return notes.equal?(request.notes) if notes && Clock.now - since < @cooldown

        circuit.trial = [request.notes, Clock.now]
        true
      end

      def refuse(circuit)
        circuit.refused += 1
        false
      end

      # A trial without a result makes way for another.
      def release(origin, request)
        return unless @circuits.key?(origin)

        @lock.synchronize do
          circuit = @circuits[origin]
          circuit.trial = nil if circuit&.trial&.first.equal?(request.notes)
        end
      end

      def failed(origin)
        @lock.synchronize do
          circuit = @circuits.delete(origin) || Circuit.new(0, nil, nil, 0)
          @circuits.shift if @circuits.size >= @most
          @circuits[origin] = circuit # Now the most recent one.
          circuit.failures += 1
          circuit.trial = nil
          circuit.opened = Clock.now if circuit.failures >= @most_failures
        end
      end
    end
  end
end
