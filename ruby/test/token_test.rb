# bearer as a Proc: called for each request, once more after a 401, in sight and within the deadline; and the token goes
# nowhere else.
require "test_helper"
require "logger"
require "scripted"

class TokenTest < ServerTest
  # A server that accepts these tokens, and responds to others with 401. Keeps its requests, as [path, token, body].
  class Guarded
    include Listening

    attr_reader :url, :requested

    def self.run(*good)
      server = new(good)
      yield server
    ensure
      server&.stop
    end

    def initialize(good)
      @good = good
      @requested = []
      @lock = Mutex.new
      @url = listen
    end

    def tokens = @requested.map { |_, token| token }

    private

    def serve(connection)
      while (request = Listening.request(connection))
        head, body = request.split("\r\n\r\n", 2)
        token = head[/^authorization: (.*?)\r?$/i, 1]
        path = head.split(" ", 3)[1]
        @lock.synchronize { @requested << [path, token, body] }
        good = @good.include?(token&.delete_prefix("Bearer "))
        sleep if path == "/slow" && good # Until it is stopped.
        connection.write(path.start_with?("/to/") ? moved(path) : reply(good))
      end
    end

    def moved(path) = "HTTP/1.1 302 X\r\nLocation: #{path.delete_prefix("/to/")}\r\nContent-Length: 0\r\n\r\n"
    def reply(good) = "HTTP/1.1 #{good ? 200 : 401} X\r\nContent-Length: 4\r\n\r\n#{good ? "good" : "none"}"
  end

  # A Proc that returns these tokens in turn, and the list of what it was called with.
  def tokens(*list)
    calls = []
    [->(refused) { calls << refused; list[calls.size - 1] }, calls]
  end

  def test_it_is_called_for_each_request
    Guarded.run("a", "b") do |server|
      code, calls = tokens("a", "b", "a")
      client = client(bearer: code)
      assert_equal [200, 200], Array.new(2) { client.get("#{server.url}/").status }
      assert_equal 200, client.get("#{server.url}/") { |stream| stream.status }
      assert_equal [["Bearer a", "Bearer b", "Bearer a"], [nil] * 3], [server.tokens, calls]
      assert_equal 200, client().get("#{server.url}/", bearer: -> { "a" }).status
      assert_equal 200, client().get("#{server.url}/", bearer: Class.new { def call(*) = "b" }.new).status
    end
  end

  def test_after_a_401_it_is_called_again_and_the_request_is_sent_once_more
    Guarded.run("new") do |server|
      code, calls = tokens("old", "new")
      response = client.post("#{server.url}/", json: [1], bearer: code)
      assert_equal [200, "good", [401, 200]], [response.status, response.body, response.attempts.map(&:status)]
      assert_equal [nil, 401], [calls[0], calls[1].status]
      assert_equal [["/", "Bearer old", "[1]"], ["/", "Bearer new", "[1]"]], server.requested
      assert_operator response.attempts[1].begun, :>=, response.attempts[0].ended
      assert_operator response.elapsed, :>=, response.attempts[1].ended
    end
  end

  def test_at_most_once
    Guarded.run("right") do |server|
      code, calls = tokens("a", "b", "right")
      response = client(bearer: code).get("#{server.url}/")
      assert_equal [401, [401, 401], 2], [response.status, response.attempts.map(&:status), calls.size]
      error = error_of(Hecaton::StatusError) {
        client(bearer: tokens("a", "b").first, raise_for_status: true).get("#{server.url}/")
      }
      assert_equal [401, [401, 401]], [error.status, error.attempts.map(&:status)]
    end
  end

  def test_the_same_token_or_none_lets_the_401_stand
    Guarded.run do |server|
      [%w[a a], ["a", nil]].each do |list|
        assert_equal [401], client.get("#{server.url}/", bearer: tokens(*list).first).attempts.map(&:status)
        strict = error_of(Hecaton::StatusError) {
          client.get("#{server.url}/", bearer: tokens(*list).first, raise_for_status: true)
        }
        assert_equal [401], strict.attempts.map(&:status)
      end
      assert_equal 4, server.requested.size
    end
  end

  def test_what_cannot_be_read_again_is_not_sent_again
    Guarded.run("new") do |server|
      [{ body: StringIO.new("x") }, { body: %w[x].each }, { multipart: { a: StringIO.new("x") } }].each do |body|
        code, calls = tokens("old", "new")
        assert_equal [401, 1], [client.post("#{server.url}/", **body, bearer: code).status, calls.size]
        code, calls = tokens("old", "new")
        unless body.key?(:multipart)
          assert_equal([401, 1], [client.all([[:post, "#{server.url}/", body]], bearer: code).first.status, calls.size])
        end
      end
    end
  end

  def test_a_stream_is_handed_over_once
    Guarded.run("new") do |server|
      seen = []
      client = client(bearer: tokens("old", "new").first)
      value = client.get("#{server.url}/") { |stream|
        seen << [stream.status, stream.read, stream.attempts.map(&:status)]; :value
      }
      assert_equal [:value, [[200, "good", [401, 200]]]], [value, seen]
      again = client(bearer: -> { "old" }, raise_for_status: true)
      assert_equal [401, 401],
        error_of(Hecaton::StatusError) { again.get("#{server.url}/") { flunk } }.attempts.map(&:status)
      assert_equal 401, client(bearer: -> { "old" }).get("#{server.url}/", &:status)
      assert_equal 5, (client(bearer: tokens("old", "new").first).get("#{server.url}/") { break 5 })
      nested = error_of(Hecaton::StatusError) do
        client(bearer: -> { "new" }).get("#{server.url}/") { client().get("#{server.url}/", raise_for_status: true) }
      end
      assert_equal 401, nested.status
    end
  end

  def test_the_deadline_holds_for_both
    Guarded.run("new") do |server|
      with_growing(0.3) do |limit|
        before = server.requested.size
        error = error_of(Hecaton::TimeoutError) {
          client.get("#{server.url}/slow", bearer: tokens("old", "new").first, timeout: limit)
        }
        assert_operator error.elapsed, :>=, limit
        [error.attempts.map(&:status), server.requested.size - before] == [[401, nil], 2]
      end
      slow = -> { sleep 0.3; "new" }
      assert_raises(Hecaton::TimeoutError) { client.get("#{server.url}/", bearer: slow, timeout: 0.1) }
    end
  end

  def test_in_a_batch
    Guarded.run("new") do |server|
      current = "old"
      calls = []
      client = client(bearer: ->(refused) { calls << refused&.status; current = "new" if refused; current })
      seen = []
      client.batch(concurrency: 3) do |batch|
        5.times { |id|
          batch.get("#{server.url}/#{id}").on_complete { |outcome|
            seen << [outcome.status, outcome.attempts.map(&:status).last]
          }
        }
      end
      assert_equal [[200, 200]] * 5, seen
      assert_operator calls.count(401), :>=, 1
      assert_equal 5 + calls.count(401), server.requested.size
      assert_equal 5, calls.count(nil)
    end
  end

  def test_code_that_aborts_the_batch
    Guarded.run("new") do |server|
      batch, called = nil, 0
      code = ->(refused) { refused ? batch.abort && "new" || "new" : "old" }
      counts = client(bearer: code).batch do |made|
        batch = made
        made.get("#{server.url}/").on_complete { called += 1 }
      end
      assert_equal [{ responses: 0, errors: 0 }, 0, ["Bearer old"]], [counts, called, server.tokens]
    end
  end

  def test_a_401_of_another_server_says_nothing_of_the_token
    Guarded.run("new") do |other|
      Guarded.run("new") do |server|
        target = "#{server.url}/to/#{other.url}/"
        requests_made =
          [->(client) { client.post(target, body: "x") }, ->(client) { client.get(target) { |stream| stream.outcome } },
           ->(client) { client.post_all([target], body: "x").first },
           ->(client) { error_of(Hecaton::StatusError) { client.get(target, raise_for_status: true) } }]
        requests_made.each do |request_once|
          code, calls = tokens("old", "new")
          assert_equal [302, 401], request_once.call(client(bearer: code, redirects: 2)).attempts.map(&:status)
          assert_equal [nil], calls
        end
        assert_equal [nil] * 4, other.tokens
        code, = tokens("old", "new")
        assert_equal [302, 401, 302, 200],
          client(bearer: code, redirects: 2).get("#{server.url}/to//here").attempts.map(&:status)
      end
    end
  end

  def test_a_request_and_its_batch_show_no_token_and_no_body
    Guarded.run("hush") do |server|
      shown = []
      client.batch do |batch|
        request = batch.post("#{server.url}/?hush", json: "hush", bearer: -> { "hush" })
        shown << request.inspect << batch.inspect
        request.on_complete { shown << request.inspect << batch.inspect }
      end
      refute_match(/hush/, shown.join)
      assert_equal ["#<Hecaton::Pending POST>", "#<Hecaton::Batch of 1 requests>",
                    "#<Hecaton::Pending POST: #<Hecaton::Response 200 OK, 4 bytes>>"],
        shown.first(3)
    end
  end

  def test_each_of_both_is_reported_once
    Guarded.run("new") do |server|
      requests_made = [->(client) { client.get("#{server.url}/").attempts }, ->(client) {
        client.get("#{server.url}/") { |stream| stream.read; stream.attempts }
      },
                       ->(client) { client.get_all(["#{server.url}/"]).first.attempts }]
      requests_made.each do |request_once|
        said = StringIO.new
        events = []
        subscription = Hecaton.subscribe { |event|
          events << event.payload.values_at("http.response.status_code", "hecaton.attempts")
        }
        attempts = request_once.call(client(bearer: tokens("old", "new").first, logger: Logger.new(said, level: :info)))
        subscription.unsubscribe
        assert_equal [401, 200], attempts.map(&:status)
        assert_equal [[401, nil], [401, 1], [200, nil], [200, 1]], events
        assert_equal [["401", "1"], ["200", "1"]], said.string.scan(/ (\d{3}) in .*, (\d) attempt$/)
      end
    end
  end

  def test_what_breaks_behind_a_401_lists_both
    replies = { "/" => ->(request) {
      request.match?(/ new\r/) ? "HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\nhalf" : Scripted.response(401)
    } }
    Scripted.run(replies) do |server|
      client = client(bearer: tokens("old", "new").first, read_timeout: 0.1)
      error = error_of(Hecaton::TimeoutError) { client.get("#{server.url}/") { |stream| stream.read } }
      assert_equal [[401, :status], [200, :failed]], error.attempts.map { |attempt| [attempt.status, attempt.ending] }
    end
  end

  def test_in_a_batch_both_are_reported_and_the_outcome_is_one
    Guarded.run("new") do |server|
      events = []
      subscription = Hecaton.subscribe("request.hecaton") { |event|
        events << event.payload["http.response.status_code"]
      }
      called = 0
      request = nil
      client.batch do |batch|
        request = batch.post("#{server.url}/", json: 1, bearer: tokens("old", "new").first).on_complete { called += 1 }
      end
      subscription.unsubscribe
      assert_equal [200, [401, 200], 1, [401, 200]],
        [request.outcome.status, request.outcome.attempts.map(&:status), called, events]
      assert_equal %w[1 1], server.requested.map(&:last)
      strict = client.all([[:get, "#{server.url}/"]], bearer: tokens("old", "bad").first, raise_for_status: true).first
      assert_equal [Hecaton::StatusError, [401, 401]], [strict.class, strict.attempts.map(&:status)]
      heads = []
      client.batch { |batch|
        batch.get("#{server.url}/", bearer: tokens("old", "new").first).on_headers { |head| heads << head.status }
      }
      assert_equal [401], heads
    end
  end

  def test_an_exception_of_it_leaves_the_request_and_the_batch
    Guarded.run do |server|
      assert_raises(IOError) { client.get("#{server.url}/", bearer: -> { raise IOError }) }
      assert_raises(IOError) { client.batch { |batch| batch.get("#{server.url}/", bearer: -> { raise IOError }) } }
      assert_empty server.requested
      requests = []
      failing = ->(refused) { refused ? raise(IOError) : "a" }
      assert_raises(IOError) { client.batch { |batch| requests << batch.get("#{server.url}/", bearer: failing) } }
      assert_equal [401], requests.map { |request| request.outcome.status }
      [nil, 5, "two words"].each do |bad|
        assert_match(/bearer/, error_of(ArgumentError) { client.get("#{server.url}/", bearer: -> { bad }) }.message)
      end
    end
  end

  def test_what_goes_before_it
    Guarded.run do |server|
      never = -> { flunk }
      client = client(bearer: never)
      own = { headers: { "authorization" => "own" } }
      client.get("#{server.url}/", **own)
      client.get("#{server.url}/", headers: { authorization: nil })
      client.get("#{server.url}/", basic_auth: %w[u p])
      client.get("#{server.url}/", bearer: false)
      client.get("#{server.url}/", bearer: "given")
      client.get(server.url.sub("//", "//u:p@"))
      client().get("#{server.url}/", **own, bearer: never)
      client(bearer: never, **own).get("#{server.url}/")
      client.batch { |batch| batch.get("#{server.url}/", **own); batch.get("#{server.url}/", bearer: "given") }
      assert_equal ["own", nil, "Basic dTpw", nil, "Bearer given", "Basic dTpw", "own", "own", "own", "Bearer given"]
        .sort_by(&:to_s),
        server.tokens.sort_by(&:to_s)
      assert_raises(ArgumentError) { client(bearer: never, basic_auth: %w[u p]) }
    end
  end

  def test_a_derived_client_has_it_too
    Guarded.run("new") do |server|
      code, calls = tokens("old", "new", "new")
      derived = client(bearer: code).with(headers: { "x-a" => "1" })
      assert_equal [200, 200], [derived.get("#{server.url}/"), *derived.get_all(["#{server.url}/"])].map(&:status)
      assert_equal 3, calls.size
      assert_equal 401, client(bearer: code).with(bearer: "given").get("#{server.url}/").status
    end
  end

  # As a String there would.
  def test_it_goes_home_alone
    Guarded.run("t") do |home|
      Guarded.run("t") do |other|
        based = client(bearer: -> { "t" }, base_url: "#{home.url}/v1", redirects: 1)
        urls = ["users", "/", "#{home.url}/x", "//#{home.url.delete_prefix("http://")}/y"]
        assert_equal [200] * 8, urls.map { |url| based.get(url).status } + based.get_all(urls).map(&:status)
        assert_equal [401] * 3,
          [based.get("#{other.url}/"), *based.get_all(["#{other.url}/"]), based.get("/to/#{other.url}/")].map(&:status)
        assert_equal [nil], other.tokens.uniq
        assert_equal [200, 200],
          [client(bearer: -> { "t" }).get("#{other.url}/"), *client(bearer: -> { "t" }).get_all([other.url])]
            .map(&:status)
        assert_raises(ArgumentError) { based.get("http://\0") }
        refute_match(/"t"/, [based, based.instance_variable_get(:@request_builder)].map(&:inspect).join)
      end
    end
  end
end
