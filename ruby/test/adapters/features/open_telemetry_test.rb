# Spans of OpenTelemetry, by the gem's documented interface: the real gem if it is installed, else a stand-in of these
# methods.
require "test_helper"
require "scripted"

# The part of opentelemetry-api's documented interface that the feature uses.
module OpenTelemetry
  Span = Struct.new(:name, :kind, :attributes, :started, :finished, :status, :exceptions) do
    def set_attribute(key, value) = attributes[key] = value
    def record_exception(error) = exceptions << error
    def finish(end_timestamp:) = self.finished = end_timestamp
  end

  # Keeps the spans.
  class Tracer
    attr_reader :spans

    def initialize = @spans = []

    def start_span(name, kind:, start_timestamp:, attributes:)
      Span.new(name, kind, attributes.dup, start_timestamp, nil, nil, []).tap { |span| @spans << span }
    end
  end

  module Trace
    Status = Struct.new(:code, :description) { def self.error(text) = new(2, text) }
    def self.context_with_span(span) = { span: span }
  end

  def self.propagation
    Class.new { def inject(carrier, context:) = carrier["traceparent"] = "00-#{context[:span].object_id}" }.new
  end
end

require "hecaton/features/open_telemetry"

class OpenTelemetryTest < ServerTest
  def setup
    super
    @tracer = OpenTelemetry::Tracer.new
  end

  def traced(**options) = client(features: [Hecaton::Features::OpenTelemetry.new(tracer: @tracer)], **options)

  def test_a_feature_without_the_gem_says_what_it_needs
    code = 'require "hecaton/features/open_telemetry"; Hecaton::Features::OpenTelemetry.new rescue puts $!.message'
    said = IO.popen([RbConfig.ruby, *$LOAD_PATH.flat_map { |path| ["-I", path] }, "-e", code], &:read)
    assert_match(/\AOpenTelemetry is not loaded: add the gem opentelemetry-api, and require/, said)
  end

  def test_a_span_for_each_attempt
    responses = [Scripted.response(503), Scripted.response(302, "Location" => "/next")]
    Scripted.run("/?secret" => ->(_) { responses.shift }, "/next" => Scripted.response(200)) do |server|
      traced(redirects: 2, retry: { statuses: [503], interval: 0 }).get("#{server.url}/?secret")
      spans = @tracer.spans
      assert_equal [503, 302, 200], spans.map { |span| span.attributes["http.response.status_code"] }
      assert_equal [nil, 1, 2], spans.map { |span| span.attributes["http.request.resend_count"] }
      assert_equal [2, nil, nil], spans.map { |span| span.status&.code }
      assert_equal ["503", nil, nil], spans.map { |span| span.attributes["error.type"] }
      assert_equal [["GET", :client]] * 3, spans.map { |span| [span.name, span.kind] }
      assert_equal ["#{server.url}/"] * 2 + ["#{server.url}/next"], spans.map { |span| span.attributes["url.full"] }
      assert_equal({ "server.address" => "127.0.0.1", "url.scheme" => "http",
        "network.protocol.version" => "1.1", "network.peer.address" => "127.0.0.1" },
        spans.last.attributes.slice("server.address", "url.scheme", "network.protocol.version", "network.peer.address"))
      assert(spans.all? { |span| span.finished >= span.started })
      assert_equal spans.map { |span| "00-#{span.object_id}" },
        server.requests.map { |request| request[/^traceparent: (\S+)/, 1] }
    end
  end

  def test_an_error
    assert_raises(Hecaton::ConnectError) { traced.request("PURGE", "http://127.0.0.1:1/") }
    span = @tracer.spans.last
    assert_equal ["HTTP", "_OTHER", "PURGE", "Hecaton::ConnectError"],
      [span.name, *span.attributes.values_at("http.request.method", "http.request.method_original", "error.type")]
    assert_equal [Hecaton::ConnectError], span.exceptions.map(&:class)
    assert span.finished
  end

  def test_a_batch_and_a_stream
    traced.get_all([url("/r/1")] * 3)
    traced.get(url("/r/1")) { |stream| stream.read }
    assert_equal [200] * 4, @tracer.spans.map { |span| span.attributes["http.response.status_code"] }
    assert(@tracer.spans.all?(&:finished))
  end
end
