# Whether an interceptor's response makes the client retry, without the waits between.
module Hecaton
  module Interception
    # The rules are the engine's (crates/hecaton/src/config/retry.rs).
    class Retries
      METHODS = %w[GET HEAD OPTIONS TRACE PUT DELETE].freeze
      KINDS = %w[resolve connect timeout protocol body].freeze
      NAMES = { TimeoutError => "timeout", ResolveError => "resolve", ConnectError => "connect", TLSError => "tls",
                ProtocolError => "protocol", BodyError => "body" }.freeze
      private_constant :METHODS, :KINDS, :NAMES

      # The retry predicate that replaces the rules, nil for none: called with an outcome.
      attr_writer :predicate

      # options are those of the client, as the real engine takes them, nil for none; own are the request's.
      def initialize(options, own)
        @options = own&.key?(:retry) ? own[:retry] || nil : options
        @left = @options ? @options[:max] || 2 : 0
      end

      # Whether to send the request again, after this outcome of a request of this method. Counts.
      def again?(method, outcome)
        return false unless @left.positive? && !%i[queue total].include?(outcome.error&.phase) && wanted?(method, outcome)

        @left -= 1
        true
      end

      private

      def wanted?(method, outcome)
        return @predicate.call(outcome) if @predicate

        outcome.error ? failed?(method, outcome) : answered?(method, outcome.status)
      end

      def methods = @options[:methods] || METHODS

      def answered?(method, status) = @options[:statuses].to_a.include?(status) && methods.include?(method)

      def failed?(method, error)
        name = NAMES.find { |kind, _| error.is_a?(kind) }&.last
        (@options[:on] || KINDS).include?(name) && (!error.sent? || methods.include?(method))
      end
    end
  end
end
