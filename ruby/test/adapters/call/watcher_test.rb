# The warnings about a server's sunset and deprecation, through each means that the program has.
require "test_helper"
require_relative "../faraday/server"
require "hecaton/call"
require "logger"
require "stringio"

class WatcherTest < Minitest::Test
  def setup = Hecaton::Call.instance_variable_set(:@configuration, nil)
  def teardown = @server&.stop

  # The warnings about a request to a server that sends these headers.
  def warned(headers, detect = true, path = "/users?token=secret")
    Hecaton::Call.configure { |config| config.detect_deprecations = detect }
    @server = Server.new { |_| [200, headers] }
    connection = Hecaton::Call::Connection.new(host: @server.url, timeout: 5, app: "a", env: "b")
    capture_io { connection.get(path) }.last
  end

  def endpoint = @server.url("/users")

  def test_one_to_come_and_one_that_is_past
    said = warned("Sunset" => "Sat, 31 Dec 2089 23:59:59 GMT")
    assert_equal "Endpoint #{endpoint} is deprecated for removal on 2089-12-31T23:59:59+00:00\n", said
    said = warned("sunset" => "Mon, 31 Dec 2018 23:59:59 GMT")
    assert_equal "Endpoint #{endpoint} was deprecated for removal " \
      "on 2018-12-31T23:59:59+00:00 and could be removed AT ANY TIME\n", said
  end

  def test_its_link_is_reported
    said = warned("Sunset" => "Sat, 31 Dec 2089 23:59:59 GMT", "Link" => '<https://api.example/v2>; rel="sunset"')
    assert_match(/, see https:\/\/api.example\/v2$/, said)
  end

  def test_nothing_is_said_of_others_and_of_dates_that_are_none
    assert_equal ["", "", ""],
      [warned({}), warned("Sunset" => "soon"), warned({ "Sunset" => "Sat, 31 Dec 2089 23:59:59 GMT" }, false)]
  end

  def test_a_logger_is_warned_instead
    log = StringIO.new
    assert_equal "", warned({ "Sunset" => "Sat, 31 Dec 2089 23:59:59 GMT" }, Logger.new(log))
    assert_match(/WARN.*is deprecated for removal on 2089/, log.string)
  end

  def test_active_support_and_rollbar_are_warned_where_they_are_loaded
    require "active_support"
    require "active_support/deprecation"
    rollbar = Module.new
    reported = []
    rollbar.define_singleton_method(:warning) { |text| reported << text }
    Object.const_set(:Rollbar, rollbar)
    deprecation = ActiveSupport::Deprecation.respond_to?(:warn) ? ActiveSupport::Deprecation : Hecaton::Call.deprecator
    before, deprecation.behavior = deprecation.behavior, ->(text, *) { reported << text }
    assert_equal "", warned("Sunset" => "Sat, 31 Dec 2089 23:59:59 GMT")
    assert_equal 2, reported.grep(/is deprecated for removal on 2089/).size
  ensure
    deprecation.behavior = before if before
    Object.send(:remove_const, :Rollbar)
    # The other tests shall find none of it.
    Object.send(:remove_const, :ActiveSupport)
  end
end
