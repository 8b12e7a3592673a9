# One batch with requests of several clients: each has its own settings, and all have one queue and one limit.
require "test_helper"

class BatchClientsTest < ServerTest
  def test_each_request_has_the_settings_of_its_client
    others = Array.new(3) { |number| client(headers: { "X-Number" => number.to_s }, base_url: url("/")) }
    echoes = Hash.new { |seen, key| seen[key] = [] }
    client(headers: { "X-Number" => "own" }).batch do |batch|
      batch.get(url("/echo")).on_complete { |outcome| echoes[:own] << number_in(outcome) }
      others.each_with_index do |other, index|
        batch.get("echo", client: other).on_complete { |outcome| echoes[index] << number_in(outcome) }
        batch.post("echo", client: other, body: "x", queue: :front).on_complete { |outcome|
          echoes[index] << number_in(outcome)
        }
        batch.add(Hecaton::Request.new(:put, "echo", json: 1), client: other).on_complete { |outcome|
          echoes[index] << number_in(outcome)
        }
      end
    end
    assert_equal({ own: ["own"], 0 => ["0"] * 3, 1 => ["1"] * 3, 2 => ["2"] * 3 }, echoes)
  end

  # An attempt that nobody looks at waits until its deadline.
  def test_features_of_another_client_see_each_attempt
    numbering = Object.new
    def numbering.before_attempt(request, number) = request.with(headers: { "X-Number" => number.to_s })
    numbers = []
    client.batch do |batch|
      batch.get(url("/echo"), client: client(features: [numbering]))
        .on_complete { |outcome| numbers << outcome.response.body[/"x-number","(\w+)"/i, 1] }
    end
    assert_equal ["1"], numbers
  end

  def number_in(outcome) = outcome.response.body[/"X-Number","(\w+)"/, 1]

  def test_one_limit_over_all_and_each_client_on_its_own_connections
    with_own_server do |server|
      clients = Array.new(3) { client }
      counts = clients.first.batch(concurrency: 4) { |batch|
        30.times { |id|
          batch.get(url("/delay/5"), client: clients[id % 3])
        }
      }
      assert_equal({ responses: 30, errors: 0 }, counts)
      assert_equal 4, server.ledger.fetch("peak_in_flight")
      assert_equal([10] * 3, clients.map { |each| each.stats[:requests] })
    end
  end

  def test_a_slow_client_holds_up_no_other
    order = []
    client.batch(concurrency: 5) do |batch|
      batch.get(url("/delay/1000")).on_complete { order << :slow }
      20.times {
        batch.get(url("/r/1"), client: (@other ||= client(connect_timeout: 5))).on_complete {
          order << :quick
        }
      }
    end
    assert_equal [:quick] * 20 + [:slow], order
  end

  def test_each_client_keeps_its_limit_of_connections
    narrow = client(per_origin: 1)
    wide = client
    wide.batch(concurrency: 12) do |batch|
      6.times { batch.get(url("/delay/10"), client: narrow) }
      6.times { batch.get(url("/delay/10")) }
    end
    assert_equal [1, 6], [narrow, wide].map { |each| each.stats[:opened] }
  end

  # Notes what it sees.
  Seeing = Struct.new(:name, :seen) do
    def before_request(request) = (seen << [name, :before, request.url[/\w+\z/]]) && nil
    def before_attempt(request, number) = (seen << [name, number, request.url[/\w+\z/]]) && nil
    def after(outcome) = (seen << [name, :after, outcome.status]) && nil
  end

  def test_features_are_those_of_the_client
    seen = []
    first, second = %i[first second].map { |name| client(features: [Seeing.new(name, seen)]) }
    first.batch(concurrency: 1) do |batch|
      batch.get(url("/r/1"))
      batch.get(url("/r/2"), client: second)
      batch.get(url("/status/404"), client: second)
      batch.get(url("/r/4"), client: client)
    end
    befores, others = seen.partition { |_, what, _| what == :before }
    assert_equal [[:first, "1"], [:second, "2"], [:second, "404"]], befores.map { |name, _, last| [name, last] }
    expected = [[:first, 1, "1"], [:first, :after, 200], [:second, 1, "2"], [:second, :after, 200],
                [:second, 1, "404"], [:second, :after, 404]]
    assert_equal expected, others
  end

  def test_outcomes_are_made_as_the_client_says
    strict = client(raise_for_status: true)
    lax = client
    outcomes = []
    note = ->(outcome) { outcomes << outcome.class }
    lax.batch(concurrency: 1) { |batch|
      [strict, lax, nil].each { |each|
        batch.get(url("/status/500"), client: each).on_complete(&note)
      }
    }
    strict.batch(concurrency: 1) { |batch|
      [strict, lax, nil].each { |each|
        batch.get(url("/status/500"), client: each).on_complete(&note)
      }
    }
    error, response = Hecaton::StatusError, Hecaton::Response
    assert_equal [error, response, response, error, response, error], outcomes
  end

  def test_tokens_predicates_uploads_and_parts_of_further_clients
    tokens = %w[old new]
    refusing = client(bearer: ->(_refused) { tokens.shift || "new" })
    again = client(retry: { max: 2, interval: 0, if: ->(outcome) { outcome.status == 503 } })
    pieces = +""
    outcomes = {}
    client.batch do |batch|
      batch.get(url("/status/401"), client: refusing).on_complete { |outcome| outcomes[:token] = outcome.attempts.size }
      batch.get(url("/status/503"), client: again).on_complete { |outcome| outcomes[:again] = outcome.attempts.size }
      batch.post(url("/echo"), client: again, body: StringIO.new("uploaded")).on_complete { |outcome|
        outcomes[:echo] = outcome.body[/uploaded/]
      }
      batch.get(url("/bytes/100000"), client: again).on_body { |piece|
        pieces << piece
      }.on_complete { |outcome| outcomes[:body] = outcome.body }
    end
    assert_equal({ token: 2, again: 3, echo: "uploaded", body: "" }, outcomes)
    assert_equal 100_000, pieces.bytesize
  end

  # As adapters do.
  def test_options_that_were_translated_mean_the_same
    own = client
    options = { headers: [%w[X-A 1], %w[X-A 2]], timeout: 20, redirects: 1, basic_auth: %w[user password] }
    echoes = []
    own.batch do |batch|
      [own, client(headers: { "X-Number" => "other" })].each do |each|
        way = batch.way_of(each)
        translated = way.translate(options)
        pendings = Array.new(2) { way.repeat("PUT", url("/echo"), translated) }
        pendings << batch.put(url("/echo"), client: each, **options)
        pendings.each do |pending|
          pending.on_complete { |outcome| echoes << outcome.response.json.values_at("method", "headers") }
        end
        way.repeat("GET", url("/redirect/302/2"), translated).on_complete { |outcome| echoes << outcome.error&.class }
      end
      assert_nil batch.way_of(client(features: [Seeing.new(:none, [])])).translate(options)
    end
    assert_equal({ Hecaton::RedirectError => 2 }, echoes.grep(Class).tally)
    assert_equal [3, 3], echoes.grep(Array).tally.values
  end

  def test_more_clients_than_are_kept
    statuses = []
    clients = Array.new(70) { client }
    clients.first.batch(concurrency: 10) do |batch|
      2.times {
        clients.each { |each|
          batch.get(url("/r/1"), client: each).on_complete { |outcome|
            statuses << outcome.status
          }
        }
      }
    end
    assert_equal [200] * 140, statuses
    assert_equal([2], clients.map { |each| each.stats[:requests] }.uniq)
  end

  def test_a_client_that_is_closed_meanwhile
    statuses = []
    client.batch do |batch|
      Hecaton::Client.open(timeout: 20) { |short|
        5.times {
          batch.get(url("/delay/20"),
            client: short).on_complete { |outcome|
            statuses << outcome.status
          }
        }
      }
      GC.start
    end
    assert_equal [200] * 5, statuses
  end

  def test_abort_and_exceptions_end_the_requests_of_all
    pending = []
    client.batch do |batch|
      3.times { |number| pending << batch.get(url("/delay/5000"), client: number.zero? ? nil : client) }
      pending << batch.get(url("/r/1")).on_complete { batch.abort }
    end
    assert_equal [Hecaton::CancelledError] * 3 + [Hecaton::Response], (pending.map { |each| each.outcome.class })
  end

  def test_what_is_no_client
    client.batch do |batch|
      [1, "client", client.batch { nil }].each do |bad|
        assert_match(/give a Hecaton::Client/, assert_raises(ArgumentError) {
                                                 batch.get(url("/r/1"), client: bad)
                                               }.message)
      end
    end
    assert_raises(ArgumentError) { client.get(url("/r/1"), client: client) }
  end

  def test_hecaton_batch
    statuses = []
    note = ->(outcome) { statuses << outcome.status }
    Hecaton.batch(concurrency: 2) do |batch|
      assert_match(/no timeout/, assert_raises(ArgumentError) { batch.get(url("/r/1")) }.message)
      assert_raises(ArgumentError) { batch.add(Hecaton::Request.new(:get, url("/r/1"))) }
      batch.get(url("/r/1"), timeout: 20).on_complete(&note)
      batch.get(url("/r/1"), client: client).on_complete(&note)
    end
    Hecaton.batch(timeout: 20) { |batch| batch.get(url("/r/1")).on_complete(&note) }
    assert_equal [200] * 3, statuses
    assert_raises(ArgumentError) { Hecaton.batch }
  end
end
