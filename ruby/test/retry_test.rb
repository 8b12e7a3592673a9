# Retries: none unless asked for, all visible, as many as the ledger saw.
require "test_helper"

class RetryTest < OriginTest
  def attempts(path, **options)
    origin = Origin.new
    outcome = begin
      client(**options).get("#{origin.url}#{path}")
    rescue Hecaton::Error => error
      error
    end
    ledger = origin.stop
    assert_equal outcome.attempts.size, ledger.values_at("requests", "aborted").sum, "as many as the ledger saw"
    outcome.attempts.map { |attempt| attempt.status || attempt.ending }
  end

  def test_none_by_default
    assert_equal [503], attempts("/status/503")
    assert_equal [:failed], attempts("/fault/truncate")
  end

  def test_what_was_asked_for
    eager = { interval: 0.001 }
    assert_equal [503] * 3, attempts("/status/503", retry: { statuses: [503], **eager })
    assert_equal [503] * 5, attempts("/status/503", retry: { statuses: [503], max: 4, **eager })
    assert_equal [503], attempts("/status/503", retry: { statuses: [503], methods: [:post], **eager })
    assert_equal [:failed] * 3, attempts("/fault/truncate", retry: eager)
    assert_equal [:failed], attempts("/fault/truncate", retry: { on: [:connect], **eager })
    assert_equal [:failed] * 3, attempts("/fault/truncate", retry: true)
    assert_equal [:failed], attempts("/fault/truncate", retry: false)
  end

  def test_bad_settings_are_refused
    assert_match(/tries is unknown: there are max/, error_of(ArgumentError) { client(retry: { tries: 3 }) }.message)
    assert_match(/on "boredom" is unknown/, error_of(ArgumentError) { client(retry: { on: [:boredom] }) }.message)
    assert_raises(ArgumentError) { client(retry: { interval: -1 }) }
    assert_match(/retry: 3 is not a Hash/, error_of(ArgumentError) { client(retry: 3) }.message)
  end
end
