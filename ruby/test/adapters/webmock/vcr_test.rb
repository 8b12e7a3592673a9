# VCR records Hecaton's requests, and replays them, through WebMock.
require "test_helper"
begin
  require "vcr"
rescue LoadError
  puts "VCR is not installed: its test is left out"
  exit
end
require "scripted"
require "tmpdir"
require "zlib"

class VCRTest < Minitest::Test
  FOLDER = Dir.mktmpdir("cassettes")
  Minitest.after_run { FileUtils.rm_rf(FOLDER) }

  VCR.configure do |config|
    config.cassette_library_dir = FOLDER
    config.hook_into :webmock
  end

  def client(**options) = Hecaton::Client.new(timeout: 20, **options)
  def cassette(name) = YAML.unsafe_load_file("#{FOLDER}/#{name}.yml")["http_interactions"]

  # The block's values when it is recorded and when it is replayed, the requests that the server received, and the
  # server's URL.
  def twice(name, replies, **options)
    Scripted.run(replies) do |server|
      results = Array.new(2) { VCR.use_cassette(name, **options) { yield server.url } }
      return [*results, server.requested, server.url]
    end
  end

  def facts(outcome)
    [outcome.status, outcome.headers["content-type"], outcome.body,
     outcome.body.encoding, outcome.url, outcome.http_method]
  end

  def test_single_requests
    replies = { "/a?b=1" => Scripted.response(200, { "Content-Type" => "text/plain; charset=utf-8" }, "é"),
                "/bytes" => Scripted.response(500, {}, "\xFF\x00".b) }
    recorded, replayed, requested = twice("single", replies) do |site|
      [client.get("#{site}/a", params: { b: 1 }, bearer: "t"),
       client.post("#{site}/bytes", body: "text"), client.get("#{site}/missing")].map { |each| facts(each) }
    end
    assert_equal recorded, replayed
    assert_equal ["é", 500, 404], [recorded[0][2], recorded[1][0], recorded[2][0]]
    assert_equal ["GET /a?b=1", "POST /bytes", "GET /missing"], requested
    first = cassette("single").first
    assert_equal ["get", ["Bearer t"], { "code" => 200, "message" => "OK" }],
      [first["request"]["method"], first["request"]["headers"]["Authorization"], first["response"]["status"]]
    assert_equal "text", cassette("single")[1]["request"]["body"]["string"]
  end

  def test_batches_and_streams
    replies = { "/1" => Scripted.response(200, {}, "one"),
                "/2" => Scripted.response(200, {}, "two"), "/3" => Scripted.response(200, {}, "three") }
    recorded, replayed, requested = twice("many", replies) do |site|
      pieces = +""
      client.batch { |batch| batch.get("#{site}/3").on_body { |piece| pieces << piece } }
      bodies = client.get_all(["#{site}/1", "#{site}/2"]).map(&:body)
      [bodies, pieces, client.get("#{site}/1") { |stream| [stream.status, stream.each_chunk.to_a.join] }]
    end
    assert_equal [[%w[one two], "three", [200, "one"]]] * 2, [recorded, replayed]
    assert_equal 4, requested.size
    assert_equal %w[one one three two], cassette("many").map { |each| each["response"]["body"]["string"] }.sort
  end

  def test_what_does_not_fit_its_label_is_recorded_byte_by_byte
    name = "attachment; filename=caf\xE9.txt".b
    pages = { "/page" => ["text/html; charset=utf-8", "caf\xE9"],
              "/wide" => ["text/plain; charset=utf-16le", "\xE9\0"], "/json" => ["application/json", "\xFF"] }
    replies = pages.transform_values { |type, body|
      Scripted.response(200, { "Content-Type" => type, "Content-Disposition" => name }, body.b)
    }
    recorded, replayed, requested = twice("labels", replies) do |site|
      pages.keys.map { |path|
        client.get("#{site}#{path}").then { |response| [response.body.b, response.headers["content-disposition"].b] }
      }
    end
    assert_equal pages.values.map { |_, body| [body.b, name] }, recorded
    assert_equal [recorded, 3], [replayed, requested.size]
  end

  def test_coded_bodies_are_recorded_plain
    replies = { "/" => Scripted.response(200, { "Content-Encoding" => "gzip" }, Zlib.gzip("plain")) }
    [{}, { decode_compressed_response: true }].each_with_index do |options, index|
      recorded, replayed, requested = twice("coded#{index}", replies, **options) { |site| client.get("#{site}/").body }
      assert_equal ["plain", "plain", 1], [recorded, replayed, requested.size]
      assert_nil cassette("coded#{index}").first["response"]["headers"]["Content-Encoding"]
    end
  end

  # As it is recorded by a client that leaves the coding to its caller.
  def test_cassettes_of_other_clients
    Scripted.run("/" => Scripted.response(200, { "Content-Encoding" => "gzip" }, Zlib.gzip("plain"))) do |server|
      VCR.use_cassette("other") { Net::HTTP.get(URI("#{server.url}/")) }
      VCR.use_cassette("other") { assert_equal "plain", client.get("#{server.url}/").body }
      assert_equal 1, server.requested.size
    end
  end

  def test_redirects_and_errors
    replies = { "/from" => Scripted.response(302, { "Location" => "/to" }),
                "/to" => Scripted.response(200, {}, "there") }
    recorded, replayed, requested, site = twice("redirects", replies) do |site|
      response = client(redirects: 1).get("#{site}/from")
      [response.body, response.url, response.redirects.map(&:url)]
    end
    assert_equal [["there", "#{site}/to", ["#{site}/from"]]] * 2, [recorded, replayed]
    assert_equal [["GET /from", "GET /to"], 2], [requested, cassette("redirects").size]
    VCR.use_cassette("none") { assert_raises(Hecaton::ConnectError) { client.get("http://127.0.0.1:9/") } }
    refute File.exist?("#{FOLDER}/none.yml")
  end

  def test_a_stream_that_is_left_early_is_not_recorded
    Scripted.run("/" => Scripted.response(200, {}, "body")) do |server|
      VCR.use_cassette("early") { client.get("#{server.url}/") { |stream| stream.status } }
      refute File.exist?("#{FOLDER}/early.yml")
    end
  end

  def test_requests_without_a_recording_are_refused
    error = assert_raises(VCR::Errors::UnhandledHTTPRequestError) { client.get("http://site.test/new") }
    assert_match(%r{GET http://site.test/new}, error.message)
    Scripted.run("/" => Scripted.response(200, {}, "body")) do |server|
      VCR.use_cassette("once") { client.get("#{server.url}/") }
      VCR.use_cassette("once") {
        assert_raises(VCR::Errors::UnhandledHTTPRequestError) {
          client.batch { |batch| batch.get("#{server.url}/new") }
        }
      }
      VCR.use_cassette("once", record: :new_episodes) { assert_equal 404, client.get("#{server.url}/new").status }
      assert_equal 2, cassette("once").size
      assert_equal ["GET /", "GET /new"], server.requested
    end
  end

  def test_hooks_and_placeholders
    reported = []
    VCR.configuration.after_http_request { |request, response| reported << [request.type, response.status.code] }
    VCR.configuration.filter_sensitive_data("<TOKEN>") { "secret" }
    twice("hooks", { "/" => Scripted.response(200) }) { |site| client.get("#{site}/", bearer: "secret") }
    assert_equal [[:recordable, 200], [:stubbed_by_vcr, 200]], reported
    assert_equal ["Bearer <TOKEN>"], cassette("hooks").first["request"]["headers"]["Authorization"]
  ensure
    VCR.configuration.clear_hooks
  end

  def test_webmock_stubs_go_on_beside_it
    WebMock.stub_request(:get, "http://site.test/").to_return(body: "stubbed")
    VCR.use_cassette("beside") { assert_equal "stubbed", client.get("http://site.test/").body }
    refute File.exist?("#{FOLDER}/beside.yml")
  ensure
    WebMock.reset!
  end
end
