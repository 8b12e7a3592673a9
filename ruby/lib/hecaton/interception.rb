# Interception of requests between a program and the network: stubs of tests, and recorders. Off unless somebody is
# there.
module Hecaton
  # The hook for a library of stubs or a recorder of requests (hecaton/testing, hecaton/webmock). It covers requests,
  # streams and batches. An interceptor is any object with these methods; Interception::Interceptor has them all, doing
  # nothing:
  #
  # name:: Symbol, for bypass.
  # respond(request):: called with an Interception::Request before each attempt, where the client would take a
  #   connection. The client uses a returned Response or Error instead of the network's. If the method returns nil, the
  #   next interceptor is called, and after the last one the network.
  # refuse(request):: called just before an attempt goes to the network. The client uses a returned Error instead. If
  #   the method returns nil, the attempt is made. An Error of the phase :queue ends the request without an attempt.
  # observes?:: whether observe is called. If it is, the bodies of streams and of requests with on_body are held in
  #   memory.
  # observe(request, outcome):: called with each Response of the network. Its body is decoded and whole. Also called
  #   with the Error that a request has ended in. A body that is not read to its end is not observed.
  #
  # An Error whose cause is Errno::ECONNRESET, ECONNABORTED, EPIPE or EOFError says that the connection ended without a
  # response. An idempotent request is re-sent once after it, and respond is called again.
  #
  # An Error may as well be raised. Any other exception leaves the request (or the batch) as one of a callback would.
  #
  # The client's engine treats an interceptor's response as one of the network. So redirects, retries, cookies,
  # credentials, concurrency, rate, max_body, the timeout and all other settings hold for it. Three things differ:
  #
  # - There is no connection, so no limit of connections applies.
  # - A wait after an interceptor's outcome is over at once. It still counts: the request has that much less time left.
  # - A body is left as it is if it does not begin as the Content-Encoding says. Stubs often have copied headers.
  #
  # A batch calls interceptors one by one. It hands over what has ended before it calls them for the next request.
  module Interception
    autoload :Interceptor, File.expand_path("interception/interceptor", __dir__)

    BYPASSED = :__hecaton_bypassed
    private_constant :BYPASSED

    @lock = Mutex.new
    @interceptors = [].freeze # Replaced, never changed, so that it is read without the lock.
    @active = false
    @webmock = false # whether its adapter was loaded

    # Whether anybody intercepts. Called once for each single request and for each batch.
    #
    # WebMock does not announce that it is loaded, so it is looked for: without it that costs what reading a constant
    # does.
    def self.active? = defined?(::WebMock) ? active_beside_webmock? : @active

    # Adds an interceptor after the others, unless it is there. Returns nil.
    def self.add(interceptor)
      require_relative "interception/run"
      replace { |others| others.include?(interceptor) ? others : others + [interceptor] }
    end

    # Takes one out. Returns nil, and does nothing when it is not there.
    def self.remove(interceptor) = replace { |interceptors| interceptors - [interceptor] }

    # For libraries on top of a client with an interceptor of their own, which has seen the requests already. The next
    # request, stream or batch that the block makes, in this fiber, bypasses the interceptors of these names, or all
    # if none is named. No more than that one: requests of its callbacks are seen. Returns what the block does.
    def self.bypass(*names)
      before = Thread.current[BYPASSED]
      Thread.current[BYPASSED] = names
      yield
    ensure
      Thread.current[BYPASSED] = before
    end

    # The interceptors of its next request or batch, nil for none.
    def self.interceptors # :nodoc:
      return unless active?

      interceptors = @interceptors
      if (names = Thread.current[BYPASSED])
        Thread.current[BYPASSED] = nil
        interceptors = names.empty? ? [] : interceptors.reject { |each| names.include?(each.name) }
      end
      interceptors unless interceptors.empty?
    end

    private_class_method def self.replace
      @lock.synchronize do
        @interceptors = yield(@interceptors).freeze
        @active = !@interceptors.empty?
      end
      nil
    end

    # Loads WebMock's adapter, once WebMock itself is there as a whole.
    private_class_method def self.active_beside_webmock?
      if !@webmock && defined?(::WebMock::HttpLibAdapters::NetHttpAdapter) && ::WebMock.respond_to?(:disable!)
        require_relative "testing/webmock"
        @webmock = true
      end
      @active
    end
  end
end
