# Consults WebMock about each request, and reports the network's outcome to it.
require "net/http/status"

# The interceptor that connects WebMock with the client.
module Hecaton::WebMock
  # Known to Interception.bypass as :webmock.
  class Interceptor < Hecaton::Interception::Interceptor
    REASONS = ::Net::HTTP::STATUS_CODES
    private_constant :REASONS

    def initialize = super(:webmock)

    # The response of a matching stub, if there is one. Notes the request, for a_request and assert_requested.
    def respond(request)
      signature = request.notes[:webmock] = signature(request)
      ::WebMock::RequestRegistry.instance.requested_signatures.put(signature)
      stubbed = ::WebMock::StubRegistry.instance.response_for_request(signature) or return
      outcome = outcome(stubbed, request)
      if outcome.is_a?(Hecaton::Response)
        ::WebMock::CallbackRegistry.invoke_callbacks({ lib: :hecaton }, signature, stubbed)
      end
      outcome
    end

    # Raises WebMock::NetConnectNotAllowedError unless WebMock allows real requests to this URL.
    def refuse(request)
      signature = request.notes.fetch(:webmock)
      raise ::WebMock::NetConnectNotAllowedError, signature unless ::WebMock.net_connect_allowed?(signature.uri)
    end

    # Whether there is a callback (WebMock.after_request).
    def observes? = ::WebMock::CallbackRegistry.any_callbacks?

    # Calls the callbacks with a response of the network; as with other libraries, not with an error.
    def observe(request, outcome)
      return unless outcome.is_a?(Hecaton::Response)

      options = { lib: :hecaton, real_request: true }
      ::WebMock::CallbackRegistry.invoke_callbacks(options, request.notes.fetch(:webmock), response(outcome))
    end

    private

    def signature(request)
      ::WebMock::RequestSignature.new(
        request.http_method.downcase, request.url, headers: request.headers.to_h, body: request.body
      )
    end

    def outcome(stubbed, request)
      return Hecaton::Interception::Failures.timeout(request.url) if stubbed.should_timeout
      if (exception = stubbed.exception)
        return Hecaton::Interception::Failures.of(exception, request.url) || raise(exception)
      end

      Hecaton::Response.new(status: status(stubbed.status), headers: stubbed.headers || {}, body: text(stubbed.body))
    end

    # The status, from 200, "200", or an Array of either and a reason.
    def status(given)
      Integer(Array(given).first, exception: false) ||
        raise(ArgumentError, "a stub has the status #{given.inspect}: give an Integer")
    end

    # The text of a Rack application's body, which may be an Array.
    def text(body) = body.is_a?(Array) ? body.join : body.to_s

    def response(outcome)
      fields = outcome.headers.map(&:first).uniq.to_h do |name|
        values = outcome.headers.get_all(name)
        [name, values.size > 1 ? values : values.first]
      end
      ::WebMock::Response.new(
        status: [outcome.status, REASONS[outcome.status].to_s], headers: fields, body: outcome.body.dup
      )
    end
  end
end
