# The way of one request past the interceptors, to a response of theirs or to the network.
module Hecaton
  module Interception
    # The real engine handles retries, redirects and cookies for the network's responses; this class does it for theirs.
    # Redirects of the network are followed here too, one at a time, for where they lead the interceptors are asked
    # again.
    class Course
      # Interception::Request: the current one, after redirects the last one.
      attr_reader :request

      # arguments are those of Native::Client#perform of native.
      def initialize(arguments, native, settings, interceptors)
        @arguments = arguments
        @settings = settings
        @interceptors = interceptors
        @sender = Sender.new(settings)
        method, url, fields, body, _timeout, options = arguments
        place, login = @sender.place(url)
        @request = Request.new(method, place, authorized(fields, login), body, @sender)
        once = body.is_a?(BodySource) && !body.repeatable?
        @redirects = Redirects.new(@sender, once) { native.redirection(method, url, fields, body, options) }
        @retries = Retries.new(settings[:retry], arguments.last)
        @attempts = []
        @elapsed = 0.0
      end

      # Whether an interceptor gave the outcome; if not, the request is for the network.
      def run
        while (outcome = ask)
          note(outcome)
          next if @retries.again?(@request.http_method, outcome)
          return end_in(outcome) unless outcome.is_a?(Response) && follow(outcome)
        end
        false
      end

      # Takes the network's outcome, as Native::Client#perform returns it, and passes it to the observers.
      # Whether it leads elsewhere: then run is to be called again. body is the whole body where it was handed over in
      # pieces.
      def goes_on?(answered, body = nil)
        observed(answered, body)
        return false unless leads_elsewhere?(*(@answered = answered))

        status, record, = answered
        response = Response.from_engine(status, record, "")
        @attempts, @elapsed = merged(response)
        follow(response) ? true : false
      end

      # Whether a response of the network is a redirect that may be followed.
      def leads_elsewhere?(status, record, _rest)
        most_redirects.positive? && Redirects::STATUSES.include?(status) && Record.headers(record).key?("location")
      end

      # The outcome as Native::Client#perform returns it.
      def values
        error = failure
        return [nil, "", error] if error
        return [@response.status, Record.write(@response), @response.body] if @response

        status, record, rest = @answered
        return @answered if @attempts.empty?

        status ? [status, merged_record(record), rest] : [nil, "", listed(Error.from_engine(record, rest))]
      end

      # The outcome as Native::Client#open does, if an interceptor gave it.
      def opened
        return [nil, "", @error] if @error

        record = Record.write(@response)
        [@response.status, record, Given.new(record, @pieces.dup)]
      end

      # The outcome as Native::Client#open does, if the network gave it.
      def tee(opened)
        @status, record, stream = opened
        return [@status, merged_record(record), Tee.new(stream, self)] if @status

        observed(@answered = opened)
        values
      end

      # For a batch: the retry predicate, where no rules decide.
      def predicate=(predicate)
        @retries.predicate = predicate && ->(outcome) { predicate.again?(*engine_facts(outcome)) }
      end

      # Array of Strings, and perhaps an Error behind them: the body of the response, if there is one.
      attr_reader :pieces

      # Error: the failure at the end of the response when it is read whole, nil when it is a Response.
      def failure = @error || @pieces&.grep(Error)&.first

      # Array: status and record of a response.
      def head = [@response.status, Record.write(@response)]

      # The arguments for Native::Client#perform.
      def arguments
        method, url, fields, _body, timeout, options = @arguments
        return [method, url, fields, @request.content, timeout, options] if most_redirects.zero?

        options = (options || {}).merge(redirects: 0)
        content = @request.body # It may be asked for again.
        return [method, url, fields, content, timeout, options] unless @redirects.any?

        options = options.except(:digest_auth) unless @redirects.login
        left = [(timeout || @settings[:timeout]) - @elapsed, 0.0].max
        [@request.http_method, @request.url, @redirects.fields, content, left, options]
      end

      # Whether an interceptor observes what the network returns.
      def observes? = @interceptors.any?(&:observes?)

      # Reports what the network returned.
      def observed(answered, body = nil)
        hearing = @interceptors.select(&:observes?)
        return if hearing.empty?

        status, record, rest = answered
        outcome = status ? plain(Response.from_engine(status, record, body || rest)) : Error.from_engine(record, rest)
        hearing.each { |interceptor| interceptor.observe(@request, outcome) }
      end

      # Reports a response of the network whose body was read in pieces.
      def told_in_pieces(record, body) = observed([@status, record, body])

      # The record of a response of the network, with what was before it.
      def merged_record(record)
        return record if @attempts.empty?

        response = Response.from_engine(200, record, "")
        attempts, elapsed = merged(response)
        Record.write(made_again(response, redirects: @redirects.list, attempts: attempts, elapsed: elapsed))
      end

      private

      def most_redirects = @arguments.last&.fetch(:redirects, nil) || @settings[:redirects] || 0

      # The headers of a request whose URL had a user in it.
      def authorized(fields, login)
        named = fields.to_a.each_slice(2).any? { |name, _| name.casecmp?("authorization") }
        login && !named ? [*fields, "Authorization", login] : fields
      end

      # The first response, or refusal.
      def ask
        outcome = nil
        answered = @interceptors.find { |interceptor| outcome = checked(interceptor, interceptor.respond(@request)) }
        return stopped_by_feature || outcome if answered

        @interceptors.find { |interceptor| outcome = checked(interceptor, interceptor.refuse(@request)) }
        outcome
      rescue Error => error
        error
      end

      # Features see an attempt that an interceptor responds to here, and one of the network when the engine makes it.
      def stopped_by_feature
        run = @arguments.last && @arguments.last[:attempts] or return
        facts = [@attempts.size + 1, @request.http_method, @request.url, @request.headers.to_a.flatten, !@request.content.nil?]
        ProtocolError.new("a feature has stopped it", phase: :queue, url: @request.url) unless run.before_attempt(facts)
      end

      def checked(interceptor, outcome)
        return outcome if outcome.nil? || outcome.is_a?(Response) || outcome.is_a?(Error)

        raise TypeError, "#{interceptor.name} answers #{@request} with #{outcome.class}: give a Response, an Error or nil"
      end

      # An attempt of its own for each response, as the network would have had; and its cookies.
      def note(outcome)
        status = outcome.response&.status
        keep_cookies(outcome) if status && @settings[:cookies]
        # A response that was made by hand may have its own attempts, and a refused request has none.
        return if outcome.attempts.any? || outcome.error&.phase == :queue

        @attempts << Attempt.new(
          reused: false, sent: status ? true : outcome.sent?, phase: status ? :read : outcome.phase || :queue,
          ending: status ? :status : :failed, status: status, redirects: @redirects.list.size, begun: @elapsed, ended: @elapsed
        )
      end

      def keep_cookies(response)
        response.headers.get_all("set-cookie").each do |text|
          @settings[:cookies].set(text, @request.url)
        rescue ArgumentError
          nil # It is none.
        end
      end

      def follow(response)
        request = @redirects.follow(@request, response) unless most_redirects.zero?
        @request = request if request
      rescue RedirectError => error
        end_in(error)
        nil
      end

      def end_in(outcome)
        return true if @error || @response # A redirect that was refused.

        outcome.is_a?(Error) ? @error = listed(outcome) : @response = whole(outcome)
        true
      end

      # Attempts and seconds so far, with those of an outcome.
      def merged(outcome)
        attempts = outcome.attempts.map do |attempt|
          times = { begun: attempt.begun + @elapsed, ended: attempt.ended && (attempt.ended + @elapsed) }
          Attempt.new(**attempt.to_h, **times, redirects: @redirects.list.size)
        end
        [@attempts + attempts, @elapsed + outcome.elapsed]
      end

      # An Error that lists what was before it.
      def listed(error)
        return error if @attempts.empty?

        attempts, elapsed = merged(error)
        error.clone.tap do |copy|
          copy.instance_variable_set(:@attempts, attempts)
          copy.instance_variable_set(:@elapsed, elapsed)
          copy.instance_variable_set(:@redirects, @redirects.list)
          copy.instance_variable_set(:@sent, error.sent? || attempts.any?(&:sent?))
        end
      end

      # The Response with all facts that a response of the network has.
      def whole(response)
        decoded = @sender.decodes?(@request.headers)
        body = bodiless?(response.status) ? "".b : Body.of(response, decoded)
        @pieces = bodiless?(response.status) ? [] : pieces_of(response, body)
        made_again(
          response, body: body, url: response.url || @request.url, http_method: response.http_method || @request.http_method,
          elapsed: response.elapsed + @elapsed, attempts: @attempts + response.attempts,
          redirects: response.redirects.empty? ? @redirects.list : response.redirects
        )
      end

      # RFC 9110 §6.4.1.
      def bodiless?(status) = @request.http_method == "HEAD" || status == 204 || status == 304

      def pieces_of(response, body)
        return response.pieces.map { |piece| piece.is_a?(Error) ? piece : piece.b } if response.respond_to?(:pieces)

        body.empty? ? [] : [body.b]
      end

      # Without the fields that describe the removed coding.
      def plain(response)
        coded = response.headers.key?("content-encoding") && !response.body.empty? && @sender.decodes?(@request.headers)
        return response unless coded

        made_again(response, headers: response.headers.reject { |name, _| %w[content-encoding content-length].include?(name) })
      end

      # A Response with changes.
      def made_again(response, **changes)
        facts = %i[status headers body url redirects attempts elapsed http_method]
        facts << :trailers if response.respond_to?(:trailers)
        Response.new(**facts.to_h { |fact| [fact, response.public_send(fact)] }, **changes)
      end

      # As the real engine would hand it over.
      def engine_facts(outcome)
        return [nil, "", outcome] if outcome.is_a?(Error)

        response = whole(outcome)
        [response.status, Record.write(response), response.body]
      end
    end
  end
end
