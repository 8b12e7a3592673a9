# HTTP/3 from Ruby: requests to a server that counts them by protocol.
require "test_helper"
require "tempfile"

class Http3Test < Minitest::Test
  # A test server of its own with HTTP/3, the certificate of its authority, and what it has seen in the end.
  def serving(*options)
    Tempfile.create("ca") do |ca|
      real_server = TestServer.new("--tls", "--tls-ca-out", ca.path, "--http2", "--http3", *options)
      yield real_server.url, ca.path
    ensure
      @summary = real_server&.stop
    end
  end

  def client(ca, http: "3", **options) = Hecaton::Client.new(timeout: 20, http: http, ca: ca, proxy: false, **options)

  def test_a_request_and_its_response
    serving do |url, ca|
      response = client(ca).post("#{url}/echo", body: "abc")
      assert_equal "3", response.http_version
      attempt = response.attempts.first
      assert_equal ["3", "h3", "1.3", nil], [attempt.version, attempt.tls.alpn, attempt.tls.version, attempt.tls.cipher]
      assert_equal "HTTP/3", JSON.parse(response.body)["protocol"]
    end
  end

  def test_a_batch_shares_one_connection
    serving do |url, ca|
      statuses = []
      client(ca).batch(concurrency: 50) do |batch|
        200.times { |id| batch.get("#{url}/r/#{id + 1}").on_complete { |outcome| statuses << outcome.response.status } }
      end
      assert_equal [200] * 200, statuses
    end
    assert_equal [200, 1], @summary.values_at("requests", "http3_connections")
  end

  def test_bodies_are_read_in_pieces_and_sent_from_an_io
    serving do |url, ca|
      client = client(ca)
      received = 0
      client.get("#{url}/bytes/300000") { |response| response.each_chunk { |piece| received += piece.bytesize } }
      assert_equal 300_000, received
      response = client.post("#{url}/echo", body: StringIO.new("x" * 100_000))
      assert_equal 200, response.status
    end
  end

  def test_limits_and_errors_are_those_of_every_protocol
    serving do |url, ca|
      client = client(ca)
      # On a busy machine nothing may have been sent when a short time is over.
      is_sent = [0.2, 2, 20].any? do |limit|
        assert_raises(Hecaton::TimeoutError) { client.get("#{url}/fault/stall-head", timeout: limit) }.sent?
      end
      assert is_sent
      assert_equal 200, client.get("#{url}/r/1").status
    end
  end

  def test_events_have_the_version
    serving do |url, ca|
      seen = []
      keys = %w[network.protocol.version hecaton.reused http.response.status_code]
      subscription = Hecaton.subscribe { |event| seen << event.payload.values_at(*keys) }
      client = client(ca)
      2.times { |id| client.get("#{url}/r/#{id + 1}") }
      assert_equal [["3", false, 200], ["3", nil, 200], ["3", true, 200], ["3", nil, 200]], seen
    ensure
      subscription&.unsubscribe
    end
  end

  def test_a_certificate_of_another_authority_is_refused
    serving do |url, _|
      error = assert_raises(Hecaton::TLSError) { client(nil).get("#{url}/r/1") }
      assert_equal :certificate_untrusted, error.reason
    end
  end

  def test_versions_are_given_as_strings_numbers_or_a_list
    [3, 3.0, ["3"], :auto, %w[3 2 1.1], [1.1, 2, 3]].each { |http| Hecaton::Client.new(timeout: 1, http: http) }
    assert_raises(ArgumentError) { Hecaton::Client.new(timeout: 1, http: %w[3 2]) }
    assert_raises(ArgumentError) { Hecaton::Client.new(timeout: 1, http: "4") }
    error = assert_raises(ArgumentError) { Hecaton::Client.new(timeout: 1, http: "3", proxy: "http://127.0.0.1:1") }
    assert_match(/proxy/, error.message)
  end

  def test_a_child_of_fork_leaves_the_connection_alone
    serving do |url, ca|
      client = client(ca)
      client.get("#{url}/r/1")
      child = fork { exit!(client.get("#{url}/r/2").status == 200) }
      assert_predicate Process.wait2(child).last, :success?
      assert_predicate client.get("#{url}/r/3").attempts.first, :reused
    end
    assert_equal 2, @summary["http3_connections"]
  end
end
