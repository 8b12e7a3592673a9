# The cache by RFC 9111: what is stored, for how long, how it is validated, and what drops it. After the public
# http-cache tests.
require "test_helper"
require "scripted"
require "zlib"
require "hecaton/features/cache"

class CacheTest < ServerTest
  def setup
    super
    @now = Time.utc(2026, 1, 1)
    @hits = 0
    @headers = { "Cache-Control" => "max-age=100" }
  end

  def date(seconds = 0) = (@now + seconds).httpdate

  # A server whose response is in @headers and @status, and whose body is its number of requests. It knows its
  # validators.
  def serve(**options)
    @cache = Hecaton::Features::Cache.new(clock: -> { @now }, **options)
    Scripted.run(Hash.new { |replies, path| replies[path] = method(:reply).to_proc }.tap { |replies|
      replies.define_singleton_method(:fetch) { |key, *| self[key] }
    }) do |server|
      @server = server
      @client = client(features: [@cache])
      yield "#{server.url}/"
    end
  end

  def reply(request)
    @hits += 1
    etag = @headers["ETag"]
    same = etag && request[/^if-none-match: (.*)\r/i, 1] == etag
    Scripted.response(same ? 304 : @status || 200, @headers, same ? "" : @hits.to_s)
  end

  def get(url, **headers) = @client.get(url, headers: headers).body

  # Whether the second of two requests gets its response from the cache.
  def hit?(url, after: 0, first: {}, **second)
    one = get(url, **first)
    @now += after
    one == get(url, **second)
  end

  def test_a_get_with_a_body_is_sent
    reply = ->(request) { Scripted.response(200, { "Cache-Control" => "max-age=60" }, request[/[ab]\z/].to_s) }
    Scripted.run("/" => reply) do |server|
      client = client(features: [Hecaton::Features::Cache.new])
      assert_equal %w[a b], %w[a b].map { |body| client.get("#{server.url}/", body: body).body }
    end
  end

  def test_how_long_a_response_is_fresh
    {
      [{ "Cache-Control" => "max-age=100" }, 99] => true,
      [{ "Cache-Control" => "max-age=100" }, 101] => false,
      [{ "Cache-Control" => "MAX-AGE=100" }, 99] => true,
      [{ "Cache-Control" => 'max-age="100"' }, 99] => true,
      [{ "Cache-Control" => "a=b, max-age=100, c" }, 99] => true,
      [{ "Cache-Control" => "max-age=100, max-age=10" }, 50] => true, # The first counts.
      [{ "Cache-Control" => "max-age=0" }, 1] => false,
      [{ "Cache-Control" => "max-age=-1" }, 1] => false,
      [{ "Cache-Control" => "max-age=x" }, 1] => false,
      [{ "Cache-Control" => "max-age=100x" }, 50] => false,
      [{ "Cache-Control" => "max-age=99999999999999999999" }, 10_000] => true,
      [{ "Cache-Control" => "max-age=100", "Age" => "50" }, 49] => true,
      [{ "Cache-Control" => "max-age=100", "Age" => "50" }, 51] => false,
      [{ "Cache-Control" => "max-age=100", "Age" => "7200.0" }, 50] => true, # Invalid, so ignored.
      [{ "Cache-Control" => "max-age=100", "Age" => "90, 0" }, 50] => false,
      [{ "Expires" => "Thursday, 18-Aug-50 02:01:18 GMT" }, 50] => true,
      [{ "Expires" => "Sunday, 06-Nov-94 08:49:37 GMT" }, 50] => false,
      [{ "Expires" => "Sun Nov  6 08:49:37 2044" }, 50] => true,
      [{ "Cache-Control" => "max-age=100", "Date" => date(-60) }, 50] => false,
      [{ "Cache-Control" => "s-maxage=1, max-age=100" }, 50] => true, # Of shared caches.
      [{ "Cache-Control" => "private, max-age=100" }, 50] => true,
      [{ "Expires" => date(100), "Date" => date }, 50] => true,
      [{ "Expires" => date(100), "Date" => date }, 150] => false,
      [{ "Expires" => "0", "Date" => date }, 1] => false,
      [{ "Expires" => date(100), "Cache-Control" => "max-age=10" }, 50] => false,
      [{ "Last-Modified" => date(-1000), "Date" => date }, 90] => true, # A tenth of it.
      [{ "Last-Modified" => date(-1000), "Date" => date }, 110] => false,
      [{}, 1] => false
    }.each_with_index do |((headers, after), expected), at|
      @headers = headers
      start = @now
      serve { |url| assert_equal expected, hit?("#{url}#{at}", after: after), [headers, after] }
      @now = start
    end
  end

  def test_what_is_stored_and_what_is_not
    { "no-store" => false, "no-cache" => false, "max-age=100, no-store" => false,
      "max-age=100, no-cache" => false, "max-age=100" => true }.each do |said, expected|
      @headers = { "Cache-Control" => said }
      serve { |url| assert_equal expected, hit?(url), said }
    end
    @headers = { "Cache-Control" => "max-age=100" }
    { 200 => true, 203 => true, 301 => true, 404 => true, 410 => true, 500 => true, 206 => false, 299 => true }
      .each do |status, expected|
      @status = status
      serve { |url| assert_equal expected, hit?(url), status }
    end
    @status = 304 # Nobody asked for it.
    serve do |url|
      before = @hits
      assert_equal [[304, 304], 2], [Array.new(2) { @client.get(url).status }, @hits - before]
    end
  end

  def test_a_failure_is_stored_only_if_the_server_says_so
    @status = 500
    { {} => 0, { "Cache-Control" => "private" } => 1 }.each do |headers, conditional|
      @headers = { "ETag" => '"a"', **headers }
      serve do |url|
        2.times { assert_equal 500, @client.get(url).status }
        assert_equal conditional, @server.requests.join.scan("if-none-match").size, headers
      end
    end
  end

  def test_what_concerns_one_connection_is_not_stored
    @headers.merge!("Connection" => "x-hop", "X-Hop" => "1", "Keep-Alive" => "timeout=5", "X-End" => "2")
    serve do |url|
      headers = Array.new(2) { @client.get(url).headers }.last
      assert_equal [nil, nil, nil, "2"], %w[connection x-hop keep-alive x-end].map { |name| headers[name] }
    end
  end

  def test_what_a_304_says_of_itself_changes_nothing
    replies =
      [Scripted.response(200,
        { "Cache-Control" => "max-age=0", "ETag" => 'W/"a"', "Content-Type" => "text/plain" }, "x"),
       Scripted.response(304,
         { "ETag" => '"a"', "Content-Type" => "text/html", "Keep-Alive" => "timeout=5", "X-New" => "1" })]
    Scripted.run("/" => ->(_) { replies.size > 1 ? replies.shift : replies.first }) do |server|
      client = client(features: [Hecaton::Features::Cache.new])
      headers = Array.new(2) { client.get("#{server.url}/").headers }.last
      assert_equal ["text/plain", nil, "1"], %w[content-type keep-alive x-new].map { |name| headers[name] }
    end
  end

  def test_only_so_many_variants_are_stored_and_each_once
    @headers["Vary"] = "X-Language"
    serve do |url|
      12.times { |language| get(url, "x-language" => language.to_s) }
      stored = -> { @cache.instance_variable_get(:@store).read("hecaton GET #{url}").size }
      assert_equal [10, "12", "13"], [stored.call, get(url, "x-language" => "11"), get(url, "x-language" => "0")]
      @headers.delete("Vary")
      @now += 150
      @cache.delete(url)
      3.times { (@now += 150) && get(url) }
      assert_equal 1, stored.call
    end
  end

  def test_directives_of_requests
    {
      { "cache-control" => "no-cache" } => false,
      { "pragma" => "no-cache" } => false, { "cache-control" => "no-store" } => false,
      { "cache-control" => "max-age=10" } => false,
      { "cache-control" => "max-age=60" } => true, { "cache-control" => "min-fresh=60" } => false,
      { "cache-control" => "max-age=60", "pragma" => "no-cache" } => true,
      { "cache-control" => "min-fresh=10" } => true,
      { "range" => "bytes=0-1" } => false, { "cache-control" => "only-if-cached" } => true
    }.each do |headers, expected|
      serve { |url| assert_equal expected, hit?(url, after: 50, **headers), headers }
    end
    serve do |url|
      assert_equal 504, @client.get(url, headers: { "cache-control" => "only-if-cached" }).status
      assert hit?(url, after: 150, "cache-control" => "max-stale")
      assert hit?(url, after: 150, "cache-control" => "max-stale=60")
      refute hit?(url, after: 150, "cache-control" => "max-stale=10")
      @headers["Cache-Control"] = "max-age=100, must-revalidate"
      refute hit?("#{url}other", after: 150, "cache-control" => "max-stale")
    end
  end

  def test_a_stale_response_is_validated
    @headers["ETag"] = '"a"'
    serve do |url|
      assert_equal "1", get(url)
      @now += 150
      @headers["X-New"] = "yes"
      response = @client.get(url)
      assert_equal [200, "1", "yes", "Hecaton; fwd=stale; fwd-status=304"],
        [response.status, response.body, response.headers["x-new"], response.headers["cache-status"]]
      assert_equal 2, @hits
      @now += 50
      assert_equal ["1", 2], [get(url), @hits]
      @now += 100
      @headers["ETag"] = '"b"'
      assert_equal "3", get(url)
      assert_equal "3", get(url)
    end
  end

  def test_a_304_about_another_response_changes_nothing
    replies = ['"a"', '"b"', '"c"'].map { |etag| { "ETag" => etag, "Cache-Control" => "max-age=0" } }
    seen = []
    Scripted.run("/" => lambda { |request|
      seen << request[/^if-none-match: (.*)\r/i, 1]
      Scripted.response(seen.size == 2 ? 304 : 200,
        replies[seen.size - 1].merge("X-Number" => seen.size.to_s), seen.size == 2 ? "" : seen.size.to_s)
    }) do |server|
      client = client(features: [Hecaton::Features::Cache.new])
      responses = Array.new(3) { client.get("#{server.url}/") }
      assert_equal([["1", '"a"', "1"], ["1", '"a"', "1"], ["3", '"c"', "3"]], responses.map { |each|
        [each.body, each.headers["etag"], each.headers["x-number"]]
      })
      assert_equal [nil, '"a"', nil], seen
    end
  end

  def test_the_programs_own_conditions_pass
    @headers["ETag"] = '"a"'
    serve do |url|
      get(url)
      assert_equal 304, @client.get(url, headers: { "if-none-match" => '"a"' }).status
    end
  end

  def test_vary
    @headers["Vary"] = "X-Language, X-Other"
    serve do |url|
      one, two = get(url, "x-language" => "en"), get(url, "x-language" => "de")
      assert_equal [one, two, one],
        [get(url, "x-language" => "en"), get(url, "x-language" => "de"), get(url, "X-Language" => " en ")]
      refute_equal one, get(url)
      @headers["Vary"] = "*"
      refute hit?("#{url}star")
      @headers["Vary"] = "Cookie" # A jar's are not seen.
      refute hit?("#{url}cookie")
      assert hit?("#{url}own", first: { "cookie" => "a=b" }, "cookie" => "a=b")
    end
  end

  def test_a_response_is_for_its_own_credentials_only
    serve do |url|
      one = @client.get(url, bearer: "one").body
      refute_equal one, @client.get(url, bearer: "two").body
      refute_equal one, get(url)
      refute_equal one, get(url, "cookie" => "a=b")
      assert_equal one, @client.get(url, bearer: "one").body
      refute_includes Marshal.dump(@cache.instance_variable_get(:@store).read("hecaton GET #{url}")), "Bearer"
      refute hit?(url.sub("//", "//user:secret@"))
    end
  end

  def test_a_change_drops_what_is_stored
    serve do |url|
      get(url)
      get("#{url}list")
      @headers["Location"] = "/list"
      @client.post(url, body: "x")
      @headers.delete("Location")
      assert_equal %w[4 5], [get(url), get("#{url}list")]
      @status = 500
      @client.delete(url)
      @status = nil
      assert_equal "4", get(url)
      @client.head(url)
      assert_equal "4", get(url)
    end
  end

  def test_a_change_drops_nothing_of_another_origin
    serve do |url|
      Scripted.run("/" => Scripted.response(201, "Location" => url)) do |other|
        get(url)
        @client.post("#{other.url}/", body: "x")
        assert_equal "1", get(url)
      end
    end
  end

  def test_stale_if_error
    serve(stale_if_error: 1000) do |url|
      get(url)
      @now += 500
      @status = 503
      response = @client.get(url)
      assert_equal ["1", "500", "Hecaton; hit; detail=stale-if-error"],
        [response.body, *response.headers.to_h.values_at("age", "cache-status")]
      assert_equal "1", @client.get(url, raise_for_status: true).body
      parts = nil
      @client.batch { |batch| parts = batch.get(url).on_body { |_| nil } }
      assert_equal [503, 503], [@client.get(url, &:status), parts.outcome.status]
      cut_off = nil
      @client.batch { |batch| cut_off = batch.get(url).on_headers { |_| batch.abort } }
      assert_kind_of Hecaton::CancelledError, cut_off.outcome
      @now += 1000
      assert_equal 503, @client.get(url).status
    end
    @status = nil
    @headers["Cache-Control"] = "max-age=10, stale-if-error=60"
    serve do |url|
      first = get(url)
      @now += 30
      @server.stop
      @client.close
      assert_equal first, get(url)
      @now += 60
      assert_raises(Hecaton::Error) { get(url) }
    end
  rescue IOError
    nil # The server was stopped twice.
  end

  def test_must_revalidate_forbids_a_stale_response
    @headers["Cache-Control"] = "max-age=10, must-revalidate"
    serve(stale_if_error: 1000) do |url|
      get(url)
      @now += 30
      @status = 503
      assert_equal 503, @client.get(url).status
    end
  end

  def test_batches_and_streams
    @headers["ETag"] = '"a"'
    serve do |url|
      get(url)
      assert_equal %w[1 1], @client.get_all([url, url]).map(&:body)
      assert_equal "1", (@client.get(url) { |stream| stream.read })
      pieces = []
      @client.batch { |batch| batch.get(url).on_body { |piece| pieces << piece } }
      assert_equal [["1"], 1], [pieces, @hits]
      @now += 150
      @client.batch { |batch| batch.get(url).on_body { |piece| pieces << piece } }
      assert_equal %w[1 2], pieces # No 304 is handed over.
      assert_equal "1", @client.get_all([url]).first.body
      assert_equal 3, @hits
    end
  end

  def test_a_response_behind_a_redirect_is_not_stored
    serve do |url|
      Scripted.run("/" => Scripted.response(302, "Location" => url)) do |other|
        client = @client.with(redirects: 1)
        assert_equal %w[1 2], Array.new(2) { client.get("#{other.url}/").body }
      end
    end
  end

  def test_a_stored_redirect_is_none_for_who_follows_it
    replies = { "/" => Scripted.response(301, "Location" => "/next", "Cache-Control" => "max-age=60"),
                "/next" => Scripted.response(200, {}, "next") }
    Scripted.run(replies) do |server|
      features = [Hecaton::Features::Cache.new]
      client, following = client(features: features), client(features: features, redirects: 1)
      url = "#{server.url}/"
      assert_equal [301, 301], Array.new(2) { client.get(url).status }
      assert_equal 1, server.requests.size
      assert_equal %w[next next], [client.get(url, redirects: 1).body, following.get(url).body]
      assert_equal 301, following.get(url, redirects: 0).status
    end
  end

  def test_what_is_given_can_be_changed_without_harm
    serve do |url|
      2.times { get(url) << "changed" }
      assert_equal "1", get(url)
    end
  end

  def test_a_body_may_be_too_large_for_another_client
    @headers["ETag"] = '"a"'
    serve do |url|
      get(url)
      small = client(features: [@cache], max_body: 0)
      assert_raises(Hecaton::BodyError) { small.get(url) }
      @now += 150
      assert_raises(Hecaton::BodyError) { small.get(url) } # After a 304.
      assert_equal ["1", 2, "1"], [get(url), @hits, small.get(url) { |stream| stream.each_chunk.to_a.join }]
    end
  end

  def test_a_store_of_ones_own
    marshalling = Class.new do
      def initialize = @values = {}
      def read(key) = @values[key]&.then { |text| Marshal.load(text) }
      def write(key, value) = @values[key] = Marshal.dump(value)
      def delete(key) = @values.delete(key)
    end
    serve(store: marshalling.new) do |url|
      assert hit?(url)
      @cache.delete(url)
      assert_equal "2", get(url)
    end
  end

  def test_what_another_store_returns_is_no_response
    good = { status: 200, url: "http://127.0.0.1/", body: "x", headers: [], vary: {}, sent: 1, came: 1 }
    [["x", 1, {}, good, [nil], [1], ["x"], [[]]], good.keys.map { |key| [good.merge(key => :rubbish)] },
     [[good.merge(headers: [1])], [good.merge(headers: [["age"]])],
      [good.transform_keys(&:to_s)]]].flatten(1).each do |value|
      store = Object.new
      store.define_singleton_method(:read) { |_| value }
      %i[write delete].each { |name| store.define_singleton_method(name) { |*| nil } }
      serve(store: store) { |url| assert_equal 200, @client.get(url).status, value.inspect }
    end
  end

  def test_bytes_that_are_no_text
    %w[Vary Connection Age Expires Date ETag Last-Modified Cache-Control].each do |name|
      serve do |url|
        @headers = { "Cache-Control" => "max-age=0", name => "\xff\xfe" }
        2.times { assert_equal 200, @client.get(url, headers: { "x-a" => "\xff" }).status, name }
      end
    end
    serve do |url|
      @headers = { "Cache-Control" => "max-age=9", "Vary" => "x-a" }
      assert hit?(url, first: { "x-a" => "\xff" }, "x-a" => "\xff")
      refute hit?(url, first: { "x-a" => "\xff" }, "x-a" => "\xfe")
    end
  end

  def test_another_cache_on_the_way_has_its_say_too
    serve do |url|
      @headers["Cache-Status"] = "CDN; hit"
      assert hit?(url)
      assert_equal "CDN; hit, Hecaton; hit", @client.get(url).headers["cache-status"]
    end
    serve do |url|
      @headers = { "Cache-Control" => "max-age=0", "ETag" => '"a"', "Cache-Status" => "CDN; hit" }
      assert_equal [[200, "2"]],
        Array.new(2) { @client.get(url).then { |response| [response.status, response.body] } }.uniq
    end
  end

  def test_conditions_do_not_follow_a_redirect
    serve do |url|
      @headers = { "Cache-Control" => "max-age=0", "ETag" => '"same"' }
      client = @client.with(redirects: 1)
      assert_equal "1", client.get(url).body
      usual = method(:reply)
      define_singleton_method(:reply) { |request|
        request.start_with?("GET / ") ? Scripted.response(302, "Location" => "/b") : usual.call(request)
      }
      @server.instance_variable_get(:@responses).clear
      assert_equal [200, "2"], client.get(url).then { |response| [response.status, response.body] }
    end
  end

  def test_a_host_of_the_programs_own
    serve do |url|
      get(url, host: "other.example")
      assert_equal "2", get(url)
      assert_equal "1", get(url, host: "other.example")
    end
  end

  def test_credentials_that_features_do_not_see
    serve do |url|
      @client.get(url, bearer: -> { "secret" })
      @client.get(url, digest_auth: %w[user password])
      assert_equal "3", get(url)
      assert_equal "4", @client.get(url, bearer: -> { "secret" }).body
    end
  end

  def test_a_coded_body_is_not_given_to_who_gets_it_decoded
    coded = Zlib.gzip("text")
    Scripted.run("/" => Scripted.response(200,
      { "Cache-Control" => "max-age=60", "Content-Encoding" => "gzip" }, coded)) do |server|
      client = client(features: [Hecaton::Features::Cache.new])
      own = { headers: { "accept-encoding" => "gzip" } }
      bodies = lambda do
        [client.get("#{server.url}/"), client.with(decode: false).get("#{server.url}/"),
         client.get("#{server.url}/", **own),
         client.with(decode_always: true).get("#{server.url}/", **own)].map(&:body)
      end
      assert_equal ["text", coded, coded, "text"], bodies.call
      assert_equal ["text", coded, coded, "text"], bodies.call
      assert_equal 4, server.requested.size
    end
  end

  def test_vary_by_a_header_that_a_setting_gives
    serve do |url|
      @headers["Vary"] = "User-Agent"
      one, other = %w[one other].map { |name| @client.with(user_agent: name) }
      assert_equal %w[1 2 1 2], [one, other, one, other].map { |client| client.get(url).body }
      assert_equal "1", get(url, "user-agent" => "one")
    end
  end

  def test_small_responses_count_with_what_ruby_takes_for_them
    memory = Hecaton::Features::Cache::Memory.new(bytes: 100_000)
    empty = { status: 204, url: "http://127.0.0.1/", body: "", headers: [], vary: {}, sent: 1, came: 1 }
    1000.times { |number| memory.write(number.to_s, [empty.dup]) }
    assert_operator Array.new(1000) { |number| memory.read(number.to_s) }.compact.size, :<=, 100
  end

  def test_a_cache_that_could_not_work_is_refused
    { store: ["x", nil, {}], stale_if_error: ["x", nil, -1, Float::NAN], clock: [5, nil] }.each do |name, values|
      values.each do |value|
        error = assert_raises(ArgumentError) { Hecaton::Features::Cache.new(name => value) }
        assert_match(/\A#{name} is .*: give /, error.message)
      end
    end
  end

  def test_memory_has_a_bound
    memory = Hecaton::Features::Cache::Memory.new(bytes: 4000)
    entry = ->(size) { [{ body: "x" * size, headers: [], vary: {} }] }
    %w[a b c].each { |key| memory.write(key, entry.call(300)) }
    memory.read("a")
    memory.write("d", entry.call(300))
    assert_equal [true, false, true, true], %w[a b c d].map { |key| !memory.read(key).nil? }
    memory.write("large", entry.call(5000))
    assert_nil memory.read("large")
    assert memory.read("d")
    assert_operator memory.bytes, :<=, 4000
  end
end
