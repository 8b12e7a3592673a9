# A feature that makes a span of OpenTelemetry for each attempt, and sends its context along.
require "hecaton"

#   require "opentelemetry-api"
#   client = Hecaton::Client.new(timeout: 5, features: [Hecaton::Features::OpenTelemetry.new])
#
# The spans follow the semantic conventions for HTTP clients (version 1.27). Their kind is client; there is one for
# each time that the request is sent, named by its method. Without a query, user or password in url.full. The
# context goes along in the headers that the propagator sets, such as traceparent.
class Hecaton::Features::OpenTelemetry
  # tracer:: what has `start_span`. Default: the tracer "hecaton" of OpenTelemetry's tracer provider.
  # propagator:: what has `inject`. Default: OpenTelemetry's. false sends no context.
  def initialize(tracer: nil, propagator: nil)
    unless defined?(::OpenTelemetry)
      raise ArgumentError,
        "OpenTelemetry is not loaded: add the gem opentelemetry-api, and require \"opentelemetry-api\""
    end

    @tracer = tracer || ::OpenTelemetry.tracer_provider.tracer("hecaton", Hecaton::VERSION)
    @propagator = propagator.nil? ? ::OpenTelemetry.propagation : propagator
  end

  def before_attempt(request, _number) # :nodoc:
    spans = request.notes[self] ||= []
    started = Time.now
    method = Hecaton::Events::METHODS.include?(request.http_method) ? request.http_method : "_OTHER"
    span = @tracer.start_span(method == "_OTHER" ? "HTTP" : method, kind: :client, start_timestamp: started,
      attributes: attributes(request, method, spans.size))
    spans << [span, started]
    return unless @propagator

    carrier = {}
    @propagator.inject(carrier, context: ::OpenTelemetry::Trace.context_with_span(span))
    request.with(headers: carrier) unless carrier.empty?
  end

  def after(outcome) # :nodoc:
    spans = outcome.request.notes[self].to_a
    spans.each_with_index do |(span, started), at|
      finish(span, started, outcome, outcome.attempts[at], at == spans.size - 1)
    end
    nil
  end

  private

  def attributes(request, method, resends)
    attributes = { "http.request.method" => method, **Hecaton::Events.location(request.url) }
    attributes["http.request.method_original"] = request.http_method if method == "_OTHER"
    attributes["http.request.resend_count"] = resends if resends.positive?
    attributes
  end

  def finish(span, started, outcome, attempt, last)
    status = attempt&.status
    span.set_attribute("http.response.status_code", status) if status
    span.set_attribute("network.protocol.version", attempt.version) if attempt&.version
    if (peer = attempt&.peer)
      span.set_attribute("network.peer.address", peer.address)
      span.set_attribute("network.peer.port", peer.port) if peer.port
    end
    error = error_type(outcome, status, attempt, last)
    fail(span, error, (outcome.error if last)) if error

    ended = attempt&.ended ? started + (attempt.ended - attempt.begun) : Time.now
    span.finish(end_timestamp: ended)
  end

  def error_type(outcome, status, attempt, last)
    return status.to_s if status && status >= 400
    return if status && attempt.ending == :status

    last && outcome.error ? outcome.error.class.name : "_OTHER"
  end

  def fail(span, type, error)
    span.set_attribute("error.type", type)
    span.record_exception(error) if error && !error.is_a?(Hecaton::StatusError)
    span.status = ::OpenTelemetry::Trace::Status.error(error ? error.class.name : "")
  end
end
