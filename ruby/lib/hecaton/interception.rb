# Interception of requests between a program and the network: stubs of tests, and recorders. Off unless somebody is
# there.
module Hecaton
  # The hook for a library of stubs or a recorder of requests (hecaton/testing, hecaton/webmock). It covers requests,
  # streams and batches. An interceptor is any object with these methods; Interception::Interceptor has them all, doing
  # nothing:
  #
  # name:: Symbol, for bypass.
  # respond(request):: called with each Interception::Request before it is sent. A Response or an Error is the outcome,
  #   and nothing is sent; nil lets it pass to the next interceptor, and then to the network.
  # refuse(request):: called when no interceptor has responded, and the request is about to be sent. An Error is the
  #   outcome; nil lets it pass.
  # observes?:: whether observe is called. The body of a stream, and of a request with on_body, is held in memory then.
  # observe(request, outcome):: called with the network's outcome, a Response or an Error, its body decoded and
  #   whole. A stream that is left before its end is not observed.
  #
  # An Error may as well be raised. Any other exception leaves the request (or the batch) as one of a callback would.
  #
  # For an interceptor's response, the client's settings hold as for one of the network. That covers redirects, cookies,
  # raise_for_status, on_deprecation, its events and retries (without their waits). Limits of connections, concurrency
  # and rate do not, nor timeouts. A batch calls them for each request when its turn comes, one by one, and before those
  # of the network are started.
  module Interception
    autoload :Interceptor, File.expand_path("interception/interceptor", __dir__)

    BYPASSED = :__hecaton_bypassed
    # Settings of a client that hold for responses of interceptors.
    SETTINGS = %i[
      timeout base_url headers public_headers user_agent decode cookies retry redirects redirects_to_http redirect_hosts
    ].freeze
    private_constant :BYPASSED, :SETTINGS

    @lock = Mutex.new
    @interceptors = [].freeze # Replaced, never changed, so that it is read without the lock.
    @active = false
    @webmock = false # whether its adapter was loaded

    class << self
      # Whether anybody intercepts. Called once for each single request and for each batch.
      #
      # WebMock does not announce that it is loaded, so it is looked for: without it that costs what reading a constant
      # does.
      def active? = defined?(::WebMock) ? active_beside_webmock? : @active

      # Adds an interceptor behind the others, unless it is there. Returns nil.
      def add(interceptor)
        require_relative "interception/engine"
        replace { |others| others.include?(interceptor) ? others : others + [interceptor] }
      end

      # Takes one out. Returns nil, and does nothing when it is not there.
      def remove(interceptor) = replace { |interceptors| interceptors - [interceptor] }

      # For libraries on top of a client with an interceptor of their own, which has seen the requests already. The next
      # request, stream or batch that the block makes, in this fiber, bypasses the interceptors of these names, or all
      # if none is named. No more than that one: requests of its callbacks are seen. Returns what the block does.
      def bypass(*names)
        before = Thread.current[BYPASSED]
        Thread.current[BYPASSED] = names
        yield
      ensure
        Thread.current[BYPASSED] = before
      end

      # For the client: those of its settings that engine needs.
      def settings(all) = all.slice(*SETTINGS)

      # For the client: what stands in for its engine, for one request or one batch.
      def engine(native, settings)
        names = Thread.current[BYPASSED]
        return Engine.new(native, settings, @interceptors) unless names

        Thread.current[BYPASSED] = nil
        Engine.new(native, settings, names.empty? ? [] : @interceptors.reject { |each| names.include?(each.name) })
      end

      private

      def replace
        @lock.synchronize do
          @interceptors = yield(@interceptors).freeze
          @active = !@interceptors.empty?
        end
        nil
      end

      # Loads WebMock's adapter, once WebMock itself is there as a whole.
      def active_beside_webmock?
        if !@webmock && defined?(::WebMock::HttpLibAdapters::NetHttpAdapter) && ::WebMock.respond_to?(:disable!)
          require_relative "webmock"
          @webmock = true
        end
        @active
      end
    end
  end
end
