# Net::HTTP itself on Hecaton, and back: its objects, its subclasses, and what is started meanwhile.
require_relative "support"
require "open-uri"

class ReplaceTest < NetHTTPTest
  def setup
    super
    @own = Class.new(Net::HTTP) { def own = "method" }
  end

  def teardown
    Hecaton::NetHTTP.restore!
    super
  end

  def hecaton?(response) = !Hecaton::NetHTTP.outcome(response).nil?

  def replaced
    Hecaton::NetHTTP.replace!
    yield
  ensure
    Hecaton::NetHTTP.restore!
  end

  def test_replaced_and_restored
    refute hecaton?(Net::HTTP.get_response(URI(url("/r/1"))))
    original = Net::HTTP
    replaced do
      assert Hecaton::NetHTTP.replaced?
      assert_same original, Net::HTTP
      assert hecaton?(Net::HTTP.get_response(URI(url("/r/1"))))
      assert hecaton?(Net::HTTP.start(host, port) { |http| http.request(Net::HTTP::Get.new("/r/1")) })
      assert hecaton?(Net::HTTP.new(host, port).get("/r/1"))
      assert hecaton?(Net::HTTP.new(host, port).request(Net::HTTP::Get.new("/r/1")) { |response| response.read_body })
      assert_instance_of Net::HTTP, Net::HTTP.new(host, port)
      Hecaton::NetHTTP.replace!
      assert hecaton?(Net::HTTP.get_response(URI(url("/r/1"))))
    end
    refute Hecaton::NetHTTP.replaced?
    refute hecaton?(Net::HTTP.get_response(URI(url("/r/1"))))
    assert hecaton?(Hecaton::NetHTTP.get_response(URI(url("/r/1"))))
  end

  def test_subclasses_that_were_there_before
    replaced do
      http = @own.new(host, port)
      assert_equal ["method", true], [http.own, hecaton?(http.get("/r/1"))]
      assert_kind_of Net::HTTP, http
    end
  end

  def test_an_object_stays_what_it_was_when_it_was_started
    before = Net::HTTP.start(host, port)
    meanwhile = nil
    replaced do
      refute hecaton?(before.get("/r/1"))
      before.read_timeout = 50
      refute hecaton?(before.get("/r/1"))
      meanwhile = Net::HTTP.start(host, port)
      assert hecaton?(meanwhile.get("/r/1"))
    end
    assert hecaton?(meanwhile.get("/r/1"))
    meanwhile.finish
    meanwhile.start
    refute hecaton?(meanwhile.get("/r/1"))
  ensure
    [before, meanwhile].each { |http| http.finish if http&.started? }
  end

  def test_settings_of_the_original_are_honoured
    replaced do
      http = Net::HTTP.new(host, port)
      http.read_timeout = 0.2
      assert_raises(Net::ReadTimeout) { http.start { http.get("/delay/60000") } }
      http.total_timeout = 0.2
      http.read_timeout = 60
      assert_raises(Net::ReadTimeout) { http.start { http.get("/delay/60000") } }
      refused(/local_port/) { Net::HTTP.start(host, port, local_port: 1) { |each| each.get("/") } }
    end
  end

  def test_one_shot_requests_share_connections
    with_own_server do |server|
      before = server.ledger["connections"]
      replaced { 20.times { Net::HTTP.get(URI(url("/r/1"))) } }
      shared = server.ledger["connections"] - before
      assert_operator shared, :<, 10 # One, unless the machine needs more than two seconds between two of them.
      5.times { Net::HTTP.get(URI(url("/r/1"))) }
      assert_equal 5, server.ledger["connections"] - before - shared
    end
  end

  def test_open_uri
    read = lambda do |path, **options|
      URI.open(url(path), **options) { |io|
        [io.status, io.read, io.base_uri.path, io.content_type, io.charset, io.meta.slice("x-a")]
      }
    end
    sizes = []
    paths = ["/bytes/20", "/bytes/20000", "/redirect/302/2?to=#{url("/bytes/7")}",
             "/headers?content-type=text/html%3Bcharset%3Dutf-8&x-a=1",
             "/encoded/gzip/300"]
    real = paths.map { |path| read.call(path) }
    replaced do
      assert_equal real, paths.map { |path| read.call(path) }
      assert_equal "404 Not Found", assert_raises(OpenURI::HTTPError) { read.call("/status/404") }.message
      read.call("/bytes/20", progress_proc: ->(size) { sizes << size }, content_length_proc: ->(size) { sizes << size })
      assert_equal "401 Unauthorized", assert_raises(OpenURI::HTTPError) { read.call("/basic/u/p") }.message
      assert_equal "200", read.call("/basic/u/p", http_basic_authentication: %w[u p]).first.first
      assert_raises(Net::ReadTimeout) { read.call("/delay/60000", read_timeout: 0.2) }
    end
    assert_equal [20, 20], sizes
  end

  def test_open_uri_over_tls
    Dir.mktmpdir do |folder|
      real_server = TestServer.new("--tls", "--tls-ca-out", "#{folder}/ca.pem")
      replaced do
        assert_equal 5, URI.open("#{real_server.url}/bytes/5", ssl_ca_cert: "#{folder}/ca.pem").read.bytesize
        assert_raises(OpenSSL::SSL::SSLError) { URI.open("#{real_server.url}/bytes/5").read }
      end
    ensure
      real_server&.stop
    end
  end

  # As the gem of Stripe makes its connections and requests.
  def test_a_started_object_that_stays_open_and_is_sent_requests_by_name
    store = OpenSSL::X509::Store.new
    replaced do
      http = Net::HTTP.new(host, port, nil)
      http.keep_alive_timeout = 30
      http.open_timeout = http.read_timeout = http.write_timeout = 20
      http.use_ssl = false
      http.cert_store = store
      http.start
      pieces = +""
      responses = Array.new(3) do
        http.send_request("POST", "/echo", "name=Ada",
          { "Authorization" => "Bearer x", "Content-Type" => "application/x-www-form-urlencoded" })
      end
      http.request(Net::HTTP::Get.new("/bytes/20000")) { |response| response.read_body { |piece| pieces << piece } }
      assert_equal ["name=Ada"], responses.map { |response| JSON.parse(response.body)["body"] }.uniq
      assert_equal [20_000, true, true],
        [pieces.bytesize, http.started?, responses.all? { |response| hecaton?(response) }]
      http.finish
    end
  end

  def test_net_http_persistent_itself
    require "net/http/persistent"
    http = Net::HTTP::Persistent.new(name: "replaced")
    replaced do
      assert hecaton?(http.request(URI(url("/r/1"))))
      assert hecaton?(http.request(URI(url("/r/1"))))
    end
  ensure
    http&.shutdown
  end
end
