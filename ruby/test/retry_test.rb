# Retries: none by default, all visible, and their number is that of the server's log.
require "test_helper"
require "scripted"
require "time"

class RetryTest < ServerTest
  def attempts(path, **options)
    real_server = TestServer.new
    outcome = begin
      client(**options).get("#{real_server.url}#{path}")
    rescue Hecaton::Error => error
      error
    end
    ledger = real_server.stop
    assert_equal outcome.attempts.size, ledger.values_at("requests", "aborted").sum, "as many as the ledger saw"
    outcome.attempts.map { |attempt| attempt.ending == :status ? attempt.status : attempt.ending }
  end

  def test_none_by_default
    assert_equal [503], attempts("/status/503")
    assert_equal [:failed], attempts("/fault/truncate")
  end

  def test_the_request_of_a_response
    eager = { interval: 0.001 }
    assert_equal [503] * 3, attempts("/status/503", retry: { statuses: [503], **eager })
    assert_equal [503] * 5, attempts("/status/503", retry: { statuses: [503], max: 4, **eager })
    assert_equal [503], attempts("/status/503", retry: { statuses: [503], methods: [:post], **eager })
    assert_equal [:failed] * 3, attempts("/fault/truncate", retry: eager)
    assert_equal [:failed], attempts("/fault/truncate", retry: { on: [:connect], **eager })
    assert_equal [:failed] * 3, attempts("/fault/truncate", retry: true)
    assert_equal [:failed] * 4, attempts("/fault/truncate", retry: 3)
    assert_equal [:failed], attempts("/fault/truncate", retry: 0)
    error = error_of(Hecaton::BodyError) { client.get(url("/fault/truncate"), retry: 1) }
    assert_equal [:failed] * 2, error.attempts.map(&:ending)
    assert_equal [:failed], attempts("/fault/truncate", retry: false)
  end

  def test_a_post_is_sent_once_unless_it_is_named
    own = TestServer.new
    tries = lambda do |**settings|
      client(retry: { statuses: [503], interval: 0, **settings }).post("#{own.url}/status/503", body: "x").attempts.size
    end
    assert_equal [1, 3], [tries.call, tries.call(methods: %i[get post])]
    assert_equal 4, own.arrived
  ensure
    own&.stop
  end

  # Busy at first, with this field; yields the URL.
  def busy(retry_after, is_well: -> { true })
    fields = [{ "Retry-After" => retry_after.call }, {}]
    busy = lambda do |_|
      wait_until(&is_well) if fields.size == 1
      Scripted.response(fields.size == 2 ? 503 : 200, { "Connection" => "close" }.merge(fields.shift))
    end
    Scripted.run("/" => busy) { |server| yield "#{server.url}/" }
  end

  # The date, which counts seconds, is more than one second away and two at most.
  PATIENCE = { seconds: -> { "1" }, date: -> { (Time.now + 2).httpdate } }.freeze

  PATIENCE.each do |form, field|
    define_method("test_a_server_that_demands_patience_in_#{form}_gets_it_and_nobody_else_waits") do
      order = []
      waited = nil
      # The second response comes when the others have ended, so none of them may wait for it.
      busy(field, is_well: -> { order.size == 20 }) do |address|
        client(retry: { statuses: [503], interval: 0 }).batch(concurrency: 2) do |batch|
          batch.get(address).on_complete do |outcome|
            order << :patient
            assert_equal [503, 200], outcome.response.attempts.map(&:status)
            waited = outcome.elapsed
          end
          20.times { batch.get(url("/r/1")).on_complete { order << :other } }
        end
      end
      assert_equal [:other] * 20 + [:patient], order
      assert_operator waited, :>=, 0.95
    end
  end

  def test_patience_ends_with_the_deadline
    busy(-> { "60" }) do |address|
      response = client(retry: { statuses: [503], interval: 0 }).get(address, timeout: 30)
      assert_equal [[503], true], [response.attempts.map(&:status), response.elapsed < 20]
    end
  end

  def test_bad_settings_are_refused
    assert_match(/tries is unknown: there are max/, error_of(ArgumentError) { client(retry: { tries: 3 }) }.message)
    assert_match(/on "boredom" is unknown/, error_of(ArgumentError) { client(retry: { on: [:boredom] }) }.message)
    assert_raises(ArgumentError) { client(retry: { interval: -1 }) }
    assert_match(/retry: 1.5 is not a Hash/, error_of(ArgumentError) { client(retry: 1.5) }.message)
    assert_match(/retry: max is -1/, error_of(ArgumentError) { client(retry: -1) }.message)
  end
end
