# One request on its way: its interceptors, called before each attempt, and what they gave.
%w[interceptor request failures stream].each { |name| require_relative name }

module Hecaton
  module Interception
    # The engine calls respond and observe while the request is under way.
    class Run # :nodoc: all
      # The classes of errors that the engine distinguishes: its retries depend on them.
      KINDS = [
        TimeoutError, ResolveError, ConnectError, TLSError, ProtocolError, BodyError, RedirectError, CancelledError
      ].freeze
      # Exceptions of a connection that ended without a response, as a stub names them.
      ENDED = [Errno::ECONNRESET, Errno::ECONNABORTED, Errno::EPIPE, EOFError].freeze
      private_constant :KINDS, :ENDED

      # built: the options of the request as the engine takes them. The engine finds this there, and calls the retry
      # predicate through it.
      def initialize(interceptors, built)
        @interceptors = interceptors
        @content = built[1]
        @due = false
        rare = built[3] ||= {}
        rare[:interception] = self
        @predicate = rare[:predicate]
        rare[:predicate] &&= self
      end

      # As RetryPredicate#again?, with what an interceptor's Response or Error says itself.
      def again?(status, record, rest) = @predicate.again?(*values(status, record, rest))

      # Before an attempt: true or false to make it on the network, with and without observers; or what
      # takes its place.
      def respond((_number, http_method, url, fields, has_body, decodes))
        @request = Request.new(http_method, url, fields, (@content if has_body || @content == ""))
        @decodes = decodes
        @ending = nil
        case @given = outcome
        when Response then response(@given)
        when Error then failure(@given)
        else @due = @interceptors.any?(&:observes?)
        end
      end

      # A response of the network that the request may not end in.
      def observe(status, record, body)
        @due = false
        response = plain(Response.from_engine(status, record, body))
        @interceptors.each { |interceptor| interceptor.observe(@request, response) if interceptor.observes? }
      end

      # Whether the outcome of the last attempt is still to be observed.
      def due? = @due

      # The end of the request: observes an outcome of the network, and returns what values does.
      def ended(status, record, rest)
        if @due && status
          observe(status, record, @body.nil? || @body.empty? ? rest : @body)
        elsif @due
          @due = false
          error = Error.from_engine(record, rest)
          @interceptors.each { |interceptor| interceptor.observe(@request, error) if interceptor.observes? }
        end
        values(status, record, rest)
      end

      # The end of the wait for a head: status, record, and what the body is read from; or what `ended` returns.
      def opened(status, record, rest)
        status ? [status, own_facts(record), Stream.new(rest, self, status)] : ended(status, record, rest)
      end

      # A part of a response in a batch: its head or a piece of its body. Returns what is handed over.
      def part(status, content)
        if status
          @body = ("".b if @due)
          return own_facts(content)
        end

        @body&.<<(content)
        content
      end

      # An outcome as Native::Client#perform returns it, with what an interceptor's Response or Error says itself.
      def values(status, record, rest)
        return [status, own_facts(record), rest] if status

        given = @given.is_a?(Error) ? @given : @ending
        [nil, record, given && rest.last ? own_error(given, Error.from_engine(record, rest)) : rest]
      end

      # The record of a response; or a Response in its place, with the facts that an interceptor's Response has itself.
      def own_facts(record)
        given = @given
        return record unless given.is_a?(Response)

        facts = %i[url http_method redirects trailers].to_h { |name| [name, given.public_send(name)] }
        facts = facts.reject { |_, fact| fact.nil? || fact.size.zero? }
        facts[:elapsed] = given.elapsed if given.elapsed.positive?
        return record if facts.empty? && given.attempts.empty?

        response = Response.from_engine(given.status, record, "")
        facts[:attempts] = joined(response.attempts, given.attempts)
        made_again(response, facts)
      end

      private

      # Response or Error, nil if the attempt is for the network.
      def outcome
        %i[respond refuse].each do |name|
          @interceptors.each do |interceptor|
            given = interceptor.public_send(name, @request)
            return given if given.is_a?(Response) || given.is_a?(Error)
            next if given.nil?

            raise TypeError,
              "#{interceptor.name} responds to #{@request} with #{given.class}: give a Response, an Error or nil"
          end
        end
        nil
      rescue Error => error
        error
      end

      def response(given)
        pieces = given.respond_to?(:pieces) ? given.pieces : [given.body]
        @ending = pieces.grep(Error).first
        [given.status, fields(given), pieces.take_while { |piece| piece.is_a?(String) }, @ending && failure(@ending)]
      end

      # [name, value, name, value].
      def fields(response)
        response.headers.flat_map do |name, value|
          next [name, value] unless "#{name}#{value}".b.match?(/[\r\n]/n)

          raise ArgumentError, "the response's field #{name.inspect} has a line break in it"
        end
      end

      def failure(error)
        kind = KINDS.find { |each| error.is_a?(each) } || Error
        phase = error.phase || (error.sent? ? :first_byte : :connect)
        [kind.name.delete_prefix("Hecaton::"), phase.name, error.sent?, ended?(error)]
      end

      # Whether the Error says that the connection ended before a response: the engine may re-send such a request.
      def ended?(error) = error.phase != :read && ENDED.any? { |each| error.cause.is_a?(each) }

      # An interceptor's Error, with the engine's attempts before its own.
      def own_error(given, error)
        return given if error.attempts.empty?

        attempts = joined(error.attempts, given.attempts)
        facts = { attempts: attempts, redirects: error.redirects, elapsed: error.elapsed + given.elapsed }
        facts[:sent] = given.sent? || attempts.any?(&:sent?)
        given.clone(freeze: false).tap do |copy|
          facts.each { |name, fact| copy.instance_variable_set(:"@#{name}", fact) }
        end
      end

      # The engine's attempts. If an outcome made by hand has attempts, these replace the engine's last one.
      def joined(attempts, own)
        return attempts if own.empty?

        attempts[0...-1] + own.map { |attempt| attempt.later(attempts.last.begun) }
      end

      # The response without the fields that describe the removed coding.
      def plain(response)
        return response unless @decodes && response.headers.key?("content-encoding") && !response.body.empty?

        fields = response.headers.reject { |name, _| %w[content-encoding content-length].include?(name) }
        made_again(response, headers: fields)
      end

      # A Response with changes.
      def made_again(response, changes)
        facts = %i[status headers body url redirects attempts elapsed http_method trailers]
        Response.new(**facts.to_h { |fact| [fact, response.public_send(fact)] }, **changes)
      end
    end
  end
end
