# Hecaton.instrumenter = ActiveSupport::Notifications, tried with the real one: each kind of its subscribers, a
# LogSubscriber too.
require "test_helper"
require "active_support"
require "active_support/notifications"
require "active_support/log_subscriber"
require "logger"
require "stringio"

class NotificationsTest < ServerTest
  def setup
    super
    Hecaton.instrumenter = ActiveSupport::Notifications
  end

  def teardown = Hecaton.instrumenter = nil

  # The events that a subscriber of the real library receives while the block runs.
  def reported(pattern, receiver)
    subscription = ActiveSupport::Notifications.subscribe(pattern, receiver)
    yield
  ensure
    ActiveSupport::Notifications.unsubscribe(subscription)
  end

  def test_a_subscriber_with_five_arguments
    seen = []
    reported(/hecaton\z/, ->(name, started, finished, id, payload) { seen << [name, started, finished, id, payload] }) {
      client.get(url("/delay/20?secret"))
    }
    assert_equal %w[attempt.hecaton request.hecaton], seen.map(&:first)
    name, started, finished, id, payload = seen.last
    assert_equal ["request.hecaton", String, "GET", 200],
      [name, id.class, *payload.values_at("http.request.method", "http.response.status_code")]
    assert_operator finished - started, :>=, 0.02
    assert_equal seen.first[3], id
    refute_match(/secret/, seen.inspect)
  end

  # Before Rails 7, `publish` reaches those alone that take five arguments: an event that has ended
  # before it is published cannot reach others.
  EVENTS = ActiveSupport::Notifications.respond_to?(:publish_event)

  def test_a_subscriber_that_takes_an_event
    seen = []
    subscription = ActiveSupport::Notifications.subscribe("request.hecaton") { |event| seen << event }
    client.get(url("/delay/20"))
    client.get_all([url("/r/1"), url("/fault/close")])
    ActiveSupport::Notifications.unsubscribe(subscription)
    return assert_empty(seen) unless EVENTS

    assert_equal ["request.hecaton"] * 3, seen.map(&:name)
    assert_operator seen.first.duration, :>=, 20
    assert_equal [200, 200, nil], seen.map { |event| event.payload["http.response.status_code"] }
    failed = seen.last.payload
    assert_equal ["Hecaton::ProtocolError", Hecaton::ProtocolError],
      [failed[:exception].first, failed[:exception_object].class]
    assert_equal Float, (seen.first.end.to_f - seen.first.time.to_f).class
  end

  def test_what_subscribed_for_one_block_alone
    seen = []
    ActiveSupport::Notifications.subscribed(->(*event) { seen << event.first }, "request.hecaton") {
      client.get(url("/r/1"))
    }
    client.get(url("/r/1"))
    assert_equal ["request.hecaton"], seen
  end

  class Lines < ActiveSupport::LogSubscriber
    class << self
      attr_accessor :lines
    end
    self.lines = Logger.new(StringIO.new)

    def logger = self.class.lines

    def request(event)
      facts = event.payload.values_at("http.request.method", "url.full", "http.response.status_code")
      info "#{facts.join(" ")} #{event.duration.round}ms"
    end
  end

  def test_a_log_subscriber
    text = StringIO.new
    Lines.lines = Logger.new(text)
    Lines.attach_to :hecaton
    client.get(url("/r/1?secret"))
    return assert_empty(text.string) unless EVENTS

    assert_match(%r{GET #{Regexp.escape(real_server.url)}/r/1 200 \d+ms}, text.string)
    refute_match(/secret/, text.string)
  ensure
    Lines.detach_from(:hecaton) if Lines.respond_to?(:detach_from)
  end

  def test_a_subscriber_that_raises_costs_no_outcome
    _, complaints = capture_io do
      reported("request.hecaton", ->(*) { raise IOError, "full" }) { assert_equal 200, client.get(url("/r/1")).status }
    end
    assert_match(/full/, complaints)
  end
end
