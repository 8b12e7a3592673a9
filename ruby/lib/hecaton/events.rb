# Reports to subscribers what became of requests and of their attempts.
module Hecaton
  # One event, in the shape of ActiveSupport::Notifications::Event. It has name, started and finished as Times, payload
  # (a Hash), and id. A request's event shares its id, a String, with the events of its attempts.
  #
  # The name is "request.hecaton" (one for each request that ended) or "attempt.hecaton" (one for each time it was sent,
  # or should have been). Events of attempts come first, in order. The payload's keys are the attributes of
  # OpenTelemetry's semantic conventions for HTTP clients, version 1.27.0, and may be absent as there. They are
  # "http.request.method", "http.request.method_original", "url.full", "url.scheme", "server.address", "server.port",
  # "http.response.status_code", "network.protocol.name", "network.protocol.version", "error.type" (a status from
  # 400 on, the class of the error, or "_OTHER") and "http.request.resend_count" (for attempts from the second on).
  # A request also has "hecaton.attempts" and "hecaton.redirects" (their numbers). An attempt also has
  # "hecaton.connection", "hecaton.reused", "hecaton.sent", "hecaton.phase" and "hecaton.ending", as in Attempt. A
  # failed request has ActiveSupport's :exception ([class name, message]) and :exception_object.
  #
  # A request that is sent once more with another token (bearer as a Proc) has the events of two requests.
  #
  # The URL of a request's event is the first one, and that of an attempt's is its own. No URL has credentials, a query
  # or a fragment.
  Event = Struct.new(:name, :started, :finished, :id, :payload) do
    alias_method :time, :started
    alias_method :end, :finished
    alias_method :transaction_id, :id

    # Milliseconds, as ActiveSupport counts them.
    def duration = (finished - started) * 1000.0
  end

  # What Hecaton.subscribe returns.
  class Subscription
    # Programs call Hecaton.subscribe instead.
    def initialize(pattern, receiver) # :nodoc:
      @pattern = pattern
      @receiver = receiver
    end

    # Ends the subscription. Returns nil, and does nothing the second time.
    def unsubscribe = Events.remove(self)

    # Hands an event to the subscriber if its pattern fits.
    def call(event) = (@receiver.call(event) if @pattern.nil? || @pattern === event.name) # :nodoc:
  end

  # The subscribers, and how an outcome becomes events. Without subscribers, a request only reads one
  # variable.
  module Events
    # Array of String: the methods that events and spans name; any other is "_OTHER".
    METHODS = %w[CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT TRACE].freeze
    ORIGIN = %r{\A(https?)://(\[[^\]]*\]|[^:/?#]*)(?::(\d+))?}
    private_constant :ORIGIN

    @lock = Mutex.new
    @subscriptions = [].freeze # Replaced, never changed, so that it is read without the lock.
    @subscribed = false

    class << self
      # Whether anybody listens. Called for each request, and a reader of a variable is the quickest that Ruby has.
      attr_reader :subscribed
      alias_method :subscribed?, :subscribed
      undef_method :subscribed

      # Adds a Subscription and returns it.
      def add(subscription)
        replace { |subscriptions| subscriptions + [subscription] }
        subscription
      end

      # Removes a Subscription.
      def remove(subscription)
        replace { |subscriptions| subscriptions - [subscription] }
        nil
      end

      # Reports a request that ended in this outcome, by default just now.
      def request(method, outcome, started = Time.now - outcome.elapsed)
        finished = started + outcome.elapsed
        id = Random.urandom(10).unpack1("H*")
        urls = [*outcome.redirects.map(&:url), outcome.url]
        methods = outcome.redirects.inject([method.to_s]) { |all, redirect| all << redirect.method_after(all.last) }
        outcome.attempts.each_with_index do |attempt, index|
          payload = attempt_payload(methods[attempt.redirects] || methods.last, outcome, attempt, index)
          payload.merge!(location(urls[attempt.redirects] || urls.last))
          publish(Event.new("attempt.hecaton", started + attempt.begun,
            attempt.ended ? started + attempt.ended : finished, id, payload))
        end
        payload = request_payload(method, outcome).merge!(location(urls.first))
        publish(Event.new("request.hecaton", started, finished, id, payload))
      end

      # Hash of the attributes that say where a URL leads. For OpenTelemetry too.
      def location(url)
        url = url.to_s.sub(/[?#].*/m, "")
        scheme, host, port = url.match(ORIGIN)&.captures
        return {} unless host

        { "url.full" => url, "url.scheme" => scheme, "server.address" => host.delete("[]"),
          "server.port" => port ? port.to_i : { "http" => 80, "https" => 443 }[scheme] }
      end

      private

      def replace
        @lock.synchronize do
          @subscriptions = yield(@subscriptions).freeze
          @subscribed = !@subscriptions.empty?
        end
      end

      # A subscriber that raises must not keep the outcome from the program, nor the event from other subscribers.
      def publish(event)
        @subscriptions.each do |subscription|
          subscription.call(event)
        rescue StandardError => error
          where = error.backtrace&.first
          warn "hecaton: a subscriber of #{event.name} raised #{error.class}: #{error.message} (#{where})"
        end
      end

      def request_payload(method, outcome)
        payload = common(method, outcome.response&.status, outcome.attempts.last)
        payload["hecaton.attempts"] = outcome.attempts.size
        payload["hecaton.redirects"] = outcome.redirects.size
        if (error = outcome.error)
          payload["error.type"] ||= error.class.name
          payload[:exception] = [error.class.name, error.message]
          payload[:exception_object] = error
        end
        payload
      end

      def attempt_payload(method, outcome, attempt, index)
        payload = common(method, attempt.status, attempt)
        payload["error.type"] ||= failure(outcome, attempt) unless attempt.ending == :status
        payload["http.request.resend_count"] = index if index.positive?
        payload["hecaton.connection"] = attempt.connection if attempt.connection
        payload.merge!("hecaton.reused" => attempt.reused, "hecaton.sent" => attempt.sent,
          "hecaton.phase" => attempt.phase.to_s, "hecaton.ending" => attempt.ending.to_s)
      end

      # The outcome's error is that of the last attempt. The errors of the others are not known.
      def failure(outcome, attempt)
        attempt.equal?(outcome.attempts.last) && outcome.error ? outcome.error.class.name : "_OTHER"
      end

      def common(method, status, attempt)
        payload = {}
        method = method.to_s
        payload["http.request.method"] = METHODS.include?(method) ? method : "_OTHER"
        payload["http.request.method_original"] = method unless METHODS.include?(method)
        payload["http.response.status_code"] = status if status
        payload["error.type"] = status.to_s if status && status >= 400
        payload["network.protocol.name"] = "http"
        payload["network.protocol.version"] = attempt.version if attempt&.version
        payload
      end
    end
  end

  class << self
    # Calls the block with each Event whose name matches: nil for all, a String for one, or a Regexp. Returns a
    # Subscription.
    #
    # The thread that waits for the request publishes an event after the outcome is known, and before it is returned or
    # handed to callbacks. In a batch "finished" is when that thread received it. An exception that the block raises (a
    # StandardError) is reported by `warn` and goes no further, so that no outcome is lost by it. A request that an
    # exception of Ruby's cuts off (Timeout, Interrupt, one of a callback) has no event, and no callback either.
    def subscribe(pattern = nil, &block)
      raise ArgumentError, "subscribe needs a block to call with each event" unless block
      unless pattern.nil? || pattern.is_a?(String) || pattern.is_a?(Regexp)
        raise ArgumentError, "#{pattern.inspect} is not a pattern: use a String, a Regexp or nil"
      end

      Events.add(Subscription.new(pattern, block))
    end

    # The object given to instrumenter=; nil by default.
    attr_reader :instrumenter

    # Hands all events to ActiveSupport::Notifications, or an object with its `publish_event(event)` (since Rails 7) or
    # `publish(name, started, finished, id, payload)`. nil ends it. Before Rails 7 ActiveSupport's `publish` reaches
    # only subscribers that take these five; those that take an event, LogSubscriber among them, need Rails 7.
    def instrumenter=(sink)
      receiver =
        if sink.respond_to?(:publish_event) then sink.method(:publish_event)
        elsif sink.respond_to?(:publish) then ->(event) { sink.publish(*event.to_a) }
        elsif !sink.nil? then raise ArgumentError, "a #{sink.class} has neither publish_event nor publish"
        end
      @sink&.unsubscribe
      @sink = receiver && Events.add(Subscription.new(nil, receiver))
      @instrumenter = sink
    end
  end
end
