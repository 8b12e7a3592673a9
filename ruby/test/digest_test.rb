# Digest authentication: real servers accept the digests, and no other server gets the credentials.
require "test_helper"
require "openssl"
require "scripted"
require "stringio"
require "tempfile"
begin
  require "webrick"
rescue LoadError
  nil # No part of Ruby since 3.0.
end

class DigestTest < ServerTest
  LOGIN = ["Mufasa", "Circle of Life: é"].freeze

  # WEBrick's own digest authentication (RFC 2617), which counts nonces strictly.
  def webrick(**options)
    skip "webrick is not installed" unless defined?(WEBrick)

    server = WEBrick::HTTPServer.new(BindAddress: "127.0.0.1",
      Port: 0, Logger: WEBrick::Log.new(File::NULL), AccessLog: [])
    file = Tempfile.new("htdigest")
    users = WEBrick::HTTPAuth::Htdigest.new(file.path)
    users.set_passwd("a realm", *LOGIN)
    guard = WEBrick::HTTPAuth::DigestAuth.new(
      Realm: "a realm", UserDB: users, Logger: WEBrick::Log.new(File::NULL), CheckNc: true, **options
    )
    server.mount_proc("/") do |request, response|
      guard.authenticate(request, response)
      response.body = "#{request.request_method} #{request.body}"
    end
    running = Thread.new { server.start }
    yield "http://127.0.0.1:#{server.listeners.first.addr[1]}/a?b=c"
  ensure
    server&.shutdown
    running&.join
    file&.unlink
  end

  def statuses(outcome) = outcome.attempts.map(&:status)

  def test_webrick_is_content
    [{}, { Algorithm: "MD5-sess" }, { UseOpaque: true, UseNextNonce: true }, { Qop: ["auth-int"] }].each do |options|
      webrick(**options) do |address|
        client = client(digest_auth: LOGIN)
        begun = Time.now.to_i
        assert_equal [401, 200], statuses(client.get(address)), options.inspect
        put = client.put(address, body: "content")
        assert_equal 200, put.status, options.inspect
        assert_equal "PUT content", put.body unless options[:Qop] # WEBrick sums the body up, and has none of it left.
        posted = statuses(client.post(address, body: "x"))
        # WEBrick announces another nonce each second, and counts on from the one before (RFC 7616 §3.4: the
        # count is the nonce's own).
        assert_equal [200], posted - (Time.now.to_i == begun ? [] : [401]), options.inspect
        assert_equal [401, 401], statuses(client.get("#{address}&", digest_auth: ["Mufasa", "wrong"])), options.inspect
      end
    end
  end

  def test_an_old_nonce_is_replaced
    webrick(NonceExpirePeriod: 0, NonceExpireDelta: 0) do |address|
      # Each is too old one second later, which this does not wait for: what counts is that an end comes.
      replies = Array.new(3) { client(digest_auth: LOGIN).get(address) }
      assert_includes [200, 401], replies.last.status
      replies.each { |reply| assert_operator reply.attempts.size, :<=, 4 }
    end
  end

  # A server that checks the sum as RFC 7616 has it.
  def strict(algorithm, qop: "auth", demand: {})
    sum = ->(text) {
      OpenSSL::Digest.new(algorithm[/SHA-256/] ? "SHA256" : algorithm[/SHA-512/] ? "SHA512-256" : "MD5").hexdigest(text)
    }
    fields = { realm: "r", nonce: "n/=", opaque: "o" }.merge(demand).map { |name, value| "#{name}=\"#{value}\"" }
    demanded =
      Scripted.response(401,
        "WWW-Authenticate" => "Digest #{fields.join(", ")}, algorithm=#{algorithm}, qop=\"#{qop}\"")
    check = lambda do |request|
      given = request[/^authorization: Digest (.*)\r/i, 1]&.b
      next demanded unless given

      say = ->(name) { given[/(?:\A|, )#{Regexp.escape(name)}="?([^",]*)/, 1] }
      secret = sum["#{LOGIN[0]}:r:#{LOGIN[1]}"]
      secret = sum["#{secret}:n/=:#{say["cnonce"]}"] if algorithm.end_with?("-sess")
      what = "#{request.split(" ")[0]}:#{say["uri"]}"
      what += ":#{sum[request.split("\r\n\r\n", 2)[1]]}" if qop == "auth-int"
      right = sum[[secret, "n/=", say["nc"], say["cnonce"], qop, sum[what]].join(":")]
      Scripted.response(right == say["response"] && say["opaque"] == "o" ? 200 : 403,
        {}, say["username"] || say["username*"])
    end
    Scripted.run("/" => check, "/a" => check, "/away" => Scripted.response(302, "Location" => url("/echo"))) { |server|
      yield server
    }
  end

  def test_every_algorithm
    %w[MD5 MD5-sess SHA-256 SHA-256-sess SHA-512-256 SHA-512-256-sess].product(%w[auth auth-int]) do |algorithm, qop|
      strict(algorithm, qop: qop) do |server|
        reply = client.post("#{server.url}/", digest_auth: LOGIN, body: "content")
        assert_equal [401, 200], statuses(reply), "#{algorithm} #{qop}"
      end
    end
  end

  def test_a_name_may_be_hashed_or_encoded
    strict("SHA-256", demand: { userhash: "true" }) do |server|
      reply = client.get("#{server.url}/", digest_auth: LOGIN)
      assert_equal [200, OpenSSL::Digest.new("SHA256").hexdigest("Mufasa:r")], [reply.status, reply.body]
    end
  end

  def test_in_batches_lists_and_streams
    strict("SHA-256") do |server|
      client = client(digest_auth: LOGIN)
      outcomes = client.get_all(["#{server.url}/", "#{server.url}/a"] * 10, concurrency: 4)
      assert_equal [200], outcomes.map(&:status).uniq
      assert_equal [200], statuses(client.get("#{server.url}/") { |stream| stream.each_chunk.to_a && stream })
      called = 0
      client(raise_for_status: true).batch do |batch|
        batch.post("#{server.url}/", digest_auth: LOGIN, body: StringIO.new("x" * 100_000)).on_complete do |outcome|
          called += 1
          assert_equal [401, 200], statuses(outcome.response)
        end
      end
      assert_equal 1, called
    end
  end

  # Notes what it observes.
  class Observer
    attr_reader :seen

    def initialize = @seen = []
    def before_attempt(_request, number) = (@seen << number) && nil

    def after(outcome)
      @seen << outcome.response&.body
      outcome
    end
  end

  def test_a_challenge_that_cannot_be_answered_is_observed_as_a_response
    ["Negotiate", "Digest realm=\"r\", nonce=\"n\", algorithm=X"].each do |challenge|
      refuse = lambda do |connection|
        while Listening.request(connection)
          connection.write("HTTP/1.1 401 No\r\nWWW-Authenticate: #{challenge}\r\nContent-Length: 2\r\n\r\nno")
        end
      end
      Peer.run(refuse) { |server| assert_observed(server.url) }
    end
  end

  def assert_observed(url)
    observer = Observer.new
    client = client(digest_auth: LOGIN, features: [observer])
    assert_equal [[401], "no"], [statuses(reply = client.get(url)), reply.body]
    client.batch { |batch| batch.get(url).on_complete { |outcome| assert_equal [401], statuses(outcome) } }
    assert_equal [1, "no", 1, "no"], observer.seen
  end

  def test_what_cannot_be_read_again_is_an_error_that_says_so
    strict("MD5") do |server|
      reader, writer = IO.pipe
      writer << "content"
      writer.close
      error = error_of(Hecaton::BodyError) { client.put("#{server.url}/", digest_auth: LOGIN, body: reader) }
      assert_match(/digest authentication.*only once/, error.message)
      assert_equal [[401], true], [statuses(error), error.sent?]
    end
  end

  def test_it_stays_where_it_belongs
    strict("MD5") do |server|
      client = client(digest_auth: LOGIN, redirects: 2)
      assert_equal [401, 200], statuses(client.get("#{server.url}/"))
      seen = client.get("#{server.url}/away")
      assert_equal [302, 200], statuses(seen)
      assert_includes server.requests.last, "Mufasa"
      refute_includes seen.body.downcase, "authorization"
      based = client(base_url: "http://elsewhere.invalid/", digest_auth: LOGIN)
      assert_equal 401, based.get("#{server.url}/").status
      assert_equal [401, 200], statuses(based.get("#{server.url}/", digest_auth: LOGIN))
    end
  end

  def test_one_kind_of_credentials
    strict("MD5") do |server|
      address = "#{server.url}/"
      client = client(digest_auth: LOGIN)
      [{ digest_auth: false }, { bearer: "x" }, { basic_auth: %w[a b] }, { headers: { authorization: "Other x" } }]
        .each do |options|
        assert_equal 1, client.get(address, **options).attempts.size, options.inspect
      end
      assert_equal [401, 200], statuses(client(bearer: "x").get(address, digest_auth: LOGIN))
    end
    error = error_of(ArgumentError) { client.get("http://a/", digest_auth: LOGIN, bearer: "x") }
    assert_equal "bearer and digest_auth cannot be combined: give one", error.message
    error_of(ArgumentError) { client(digest_auth: LOGIN, basic_auth: %w[a b]) }
    ["user", ["user"], %w[a b c]].each { |odd| error_of(ArgumentError) { client(digest_auth: odd) } }
    error = error_of(ArgumentError) { client.get("http://a/", digest_auth: ["a", "b\r\nc"]) }
    assert_equal "digest_auth contains a control character", error.message
  end

  def test_credentials_are_not_shown
    strict("MD5") do |server|
      client = client(digest_auth: LOGIN)
      reply = client.get("#{server.url}/")
      shown = [client, reply, reply.attempts].map(&:inspect).join
      refute_includes shown, "Circle"
    end
  end
end
