# The helpers that the tests of this drop-in share: each request by Net::HTTP and by Hecaton::NetHTTP.
require "test_helper"
require "scripted"
require "hecaton/net_http"

class NetHTTPTest < ServerTest
  BOTH = [Net::HTTP, Hecaton::NetHTTP].freeze

  def teardown
    Hecaton::NetHTTP.shutdown
    Hecaton::NetHTTP.total_timeout = Hecaton::NetHTTP.max_connections = nil
    Hecaton::NetHTTP.http = "1.1"
  end

  def host = URI(real_server.url).host
  def port = URI(real_server.url).port

  # Connections stay open for longer than a busy machine may need between two requests.
  def start(klass = Hecaton::NetHTTP, **options, &block)
    klass.start(host, port, keep_alive_timeout: 60, **options, &block)
  end

  # The block's value must be equal for each class; returns it.
  def same
    real, ours = BOTH.map { |klass| yield klass }
    real.nil? ? assert_nil(ours) : assert_equal(real, ours)
    ours
  end

  # Expects equal results within a started object of each.
  def same_started(**options, &block) = same { |klass| start(klass, **options, &block) }

  # The request that the test server received, without the fields about the sender and the connection. Content-Length: 0
  # is dropped too, because the engine leaves it out where a method has no body by itself.
  def arrived_at(response)
    reported = JSON.parse(response.body)
    headers = reported["headers"].reject { |name, value| name == "Connection" || [name, value] == %w[Content-Length 0] }
    reported.slice("method", "path", "body").merge("headers" => headers.sort)
  end

  # The same error of both, by its class; returns that of the drop-in.
  def same_error
    real, ours = BOTH.map { |klass| assert_raises(StandardError) { yield klass } }
    assert_equal real.class, ours.class, "#{real.inspect} and #{ours.inspect}"
    ours
  end

  # One that no setting can produce.
  def refused(pattern = nil, &block)
    error = assert_raises(Hecaton::NetHTTP::Refused, &block)
    assert_match pattern, error.message if pattern
    error
  end

  # A server on a port of its own that treats each connection as the test's proc does; yields host and port.
  def served(behaviour)
    Peer.run(behaviour) { |peer| yield "127.0.0.1", peer.port }
  end
end

# For libraries that call Net::HTTP inside.
class ReplacedNetHTTPTest < NetHTTPTest
  # The block's value must be equal before and after; returns it.
  def same
    real = yield
    before = Hecaton::NetHTTP.pool.size
    Hecaton::NetHTTP.replace!
    ours = yield
    assert_operator Hecaton::NetHTTP.pool.size, :>, before, "the request did not go through Hecaton"
    assert_equal real, ours
    ours
  ensure
    Hecaton::NetHTTP.restore!
    Hecaton::NetHTTP.shutdown
  end

  def reported(response)
    reported = JSON.parse(response.body)
    [response.code, reported["method"], reported["path"], reported["body"],
     reported["headers"].map { |name, value| [name.downcase, value] }.reject { |name, _| name == "connection" }.sort]
  end
end
