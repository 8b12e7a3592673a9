# Stubs for the tests of programs: responses without the network.
require "hecaton"
%w[../interception/run returns conditions url_pattern stub registry].each { |name| require_relative name }

module Hecaton
  # Responds to requests instead of the network, from now on. Returns a Testing::Stub, which counts them. If several
  # stubs match, the one that was made last counts.
  #
  #   Hecaton.stub(:get, "http://api.test/users/1") { { status: 200, json: { name: "Ada" } } }
  #
  # method:: a Symbol or String in any case, :any, or an Array of some.
  # url:: a String (or URI): the absolute URL, which must be equal, whatever the order of the query's parameters. A
  #   Regexp is searched in the URL. A Proc, or another object with call, gets the Interception::Request and returns
  #   whether it matches. Default nil: any.
  # query:: Hash or Array of pairs: the parameters, as for params in Client#request; :any for any parameters. Default
  #   nil: those in the url.
  # headers:: Hash of required fields; other fields may be beside them. A value is compared by ===, an Array with all
  #   values of a repeated field; nil for a field that must be absent. Default none.
  # body:: compared by === : a String, a Regexp, a Proc. Default nil: any.
  # json:: what the body must be in JSON. Default nil: anything.
  # form:: Hash or Array of pairs that the body must be as by form in Client#request, in any order. Default nil:
  #   anything.
  #
  # The block is called with the Interception::Request each time, and its value is the response, see
  # Testing::Stub#returns. Without a block, and without returns, the response is an empty 200. ArgumentError when
  #   something cannot be matched.
  def self.stub(method, url = nil, query: nil, headers: nil, body: nil, json: nil, form: nil, &returned)
    conditions = Testing::Conditions.new(
      method, Testing::UrlPattern.new(url, query), headers: headers, body: body, json: json, form: form
    )
    Testing.registry.add(Testing::Stub.new(conditions, &returned))
  end

  # Once this is loaded, no request of the process reaches the network, but to allowed_hosts: one that no stub matches
  # ends in an UnmatchedRequest. Stubs hold for all threads; so tests that stub run one at a time in a process.
  module Testing
    # No stub matches a request. The message lists the stubs that there are, and what of each does not match.
    class UnmatchedRequest < Error; end

    @registry = Registry.new

    class << self
      attr_reader :registry # :nodoc:

      # Array of Interception::Request: all requests since reset, in order, whatever their outcomes.
      def requests = @registry.requests

      # Array of Interception::Request: those that no stub matched, and that were not allowed. For programs that take
      # any error of the network in their stride, and so hide this one.
      def unmatched = @registry.unmatched

      # Array of Stub, the newest first.
      def stubs = @registry.stubs

      # Array of hosts that may receive real requests where no stub matches; see allowed_hosts=.
      def allowed_hosts = @registry.allowed_hosts

      # Sets them, an Array: "host", "host:port", "*.example.org" (all names under that one), or a Regexp, which is
      # looked for in the URL. Default []. They outlive reset.
      def allowed_hosts=(hosts)
        @registry.allowed_hosts = hosts
      end

      # Forgets all stubs and requests. Returns nil. hecaton/testing/minitest and hecaton/testing/rspec call it after
      # each test.
      def reset = @registry.reset

      # Enables stubs again after disable!. Returns nil.
      def enable! = Interception.add(@registry)

      # Lets all requests through to the network, as if this were not loaded. Returns nil.
      def disable! = Interception.remove(@registry)

      # Response made by hand.
      #
      # status:: Integer, default 200. headers:: Hash or Array of pairs, default none. body:: String, default empty.
      # json:: instead of body: what is generated as JSON, with its Content-Type.
      # pieces:: instead of body: an Array of Strings, the pieces for streams and on_body. The last may be an Error (or
      #   its class), in which the body ends.
      # Other keywords are those of Response.new: url, redirects, attempts, elapsed, http_method.
      def response(status: 200, headers: {}, body: nil, json: nil, pieces: nil, **facts)
        Returns.response(status, headers, { body: body, json: json, pieces: pieces }.compact, facts)
      end

      # Stream made by hand, for code that takes one: of a Response, or of the same keywords as response.
      def stream(response = nil, **facts)
        response ||= self.response(**facts)
        pieces = response.respond_to?(:pieces) ? response.pieces : [response.body].reject(&:empty?)
        pieces = pieces.map { |piece| piece.is_a?(String) ? piece.b : piece }
        Stream.new(response.status, response, Interception::Given.new(response, pieces))
      end
    end
  end
end

Hecaton::Testing.enable!
