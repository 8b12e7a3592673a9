# One stub: its conditions, its responses, and its requests so far.

module Hecaton::Testing
  # Made by Hecaton.stub.
  class Stub
    def initialize(conditions, &returned)
      @conditions = conditions
      @returns = [returned]
      @requests = []
      @lock = Mutex.new
    end

    # Sets the outcomes of the stub's requests, one after the other; the last one repeats. Returns self. Each is
    #
    # - a Response, such as Response.new or Testing.response make;
    # - a Hash of the keywords of Testing.response: { status: 404 }, { json: […] };
    # - an Integer, the status of an empty response; a String, the body of a 200;
    # - an Error of Hecaton's, which is the outcome, or its class;
    # - another exception or its class. A network exception (Errno::…, SocketError, Timeout::Error,
    #   OpenSSL::SSL::SSLError, EOFError) becomes the Error that a client makes of it, with the exception as its
    #   cause. Any other is raised as it is;
    # - whatever can be called, with the Interception::Request, and returns one of these. An Error that it raises is
    #   the outcome.
    def returns(*values)
      raise ArgumentError, "returns needs at least one value" if values.empty?

      @lock.synchronize { @returns = values }
      self
    end

    # Array of Interception::Request: the requests that it matched, in order.
    def requests = @lock.synchronize { @requests.dup }

    # Integer: how many they are.
    def count = @lock.synchronize { @requests.size }

    # nil if the request matches, else the name of the first thing that does not: :method, :url, :query, :headers,
    # :body.
    def mismatch(request) = @conditions.mismatch(request)

    # Response or Error.
    def respond(request) # :nodoc:
      value = @lock.synchronize do
        @requests << request
        @returns.size > 1 ? @returns.shift : @returns.first
      end
      Returns.of(value, request)
    end

    # The requests that it matches, as a test names them.
    def to_s = @conditions.to_s

    # Its conditions, and the number of its requests.
    def inspect = "#<Hecaton::Testing::Stub #{self}, called #{count} times>"
  end
end
