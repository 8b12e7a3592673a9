# Features of the clients behind adapters and drop-ins, and with stubs.
require "test_helper"
require "scripted"
require "hecaton/faraday"
require "hecaton/net_http"
require "hecaton/typhoeus"
require "hecaton/testing"

class FeaturesOfAdaptersTest < ServerTest
  # Adds a header to each request and each attempt, responds to /given, and notes outcomes.
  class Feature
    attr_reader :seen

    def initialize = @seen = []
    def before_request(request) = request.with(headers: { "x-request" => "1" })

    def respond(request) =
      (Hecaton::Response.new(status: 203, body: "given", headers: { "x-a" => "b" }) if request.url.end_with?("/given"))

    def before_attempt(request, number) = request.with(headers: { "x-attempt" => number.to_s })
    def after(outcome) = @seen << outcome.status && nil
  end

  def setup
    super
    Hecaton::Testing.disable!
    @feature = Feature.new
  end

  def teardown
    Hecaton::NetHTTP.features = Typhoeus::Config.features = nil
    super
  end

  def check
    Scripted.run("/" => Scripted.response(200, {}, "sent")) do |server|
      assert_equal [200, "sent"], yield("#{server.url}/")
      assert_match(/x-request: 1\r\nx-attempt: 1\r/, server.requests.first)
      assert_equal [203, "given"], yield("#{server.url}/given")
      assert_equal [[200, 203], 0], [@feature.seen, server.requests.size]
    end
  end

  def test_faraday
    connection = Faraday.new { |faraday| faraday.adapter :hecaton, features: [@feature] }
    check { |url| connection.get(url).then { |response| [response.status, response.body] } }
  end

  def test_net_http
    Hecaton::NetHTTP.features = [@feature]
    check { |url| Hecaton::NetHTTP.get_response(URI(url)).then { |response| [response.code.to_i, response.body] } }
  end

  def test_typhoeus
    Typhoeus::Config.features = [@feature]
    check { |url| Typhoeus.get(url).then { |response| [response.code, response.body] } }
    @feature.seen.clear
    check do |url|
      hydra = Typhoeus::Hydra.new
      request = Typhoeus::Request.new(url)
      hydra.queue(request)
      hydra.run
      [request.response.code, request.response.body]
    end
  end

  def test_stubs
    Hecaton::Testing.enable!
    Hecaton.stub(:get, "http://api.test/").returns(status: 200, body: "stubbed")
    client = client(features: [@feature])
    assert_equal "stubbed", client.get("http://api.test/").body
    assert_equal "given", client.get("http://api.test/given").body
    assert_equal %w[stubbed given], client.get_all(%w[http://api.test/ http://api.test/given]).map(&:body)
    assert_equal [200, 203, 200, 203].sort, @feature.seen.sort
    numbers = []
    counting = Object.new
    counting.define_singleton_method(:before_attempt) { |_, number| numbers << number && nil }
    Hecaton::Testing.allowed_hosts = ["127.0.0.1"]
    ["http://api.test/", url("/r/1")].each { |url| client(features: [counting]).get(url) }
    client(features: [counting]).get_all(["http://api.test/", url("/r/1")])
    assert_equal [1] * 4, numbers
    raising = Object.new
    def raising.before_attempt(_request, _number) = raise(KeyError)
    assert_raises(Hecaton::FeatureError) { client(features: [raising]).get("http://api.test/") }
  ensure
    Hecaton::Testing.reset
    Hecaton::Testing.disable!
  end
end
