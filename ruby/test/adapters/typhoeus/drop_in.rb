# The drop-in and a test server, for tests of what it does by itself.
require "test_helper"
require "hecaton/typhoeus"

Typhoeus::Config.timeout = nil

# Leaves nothing behind in what all tests share.
class DropInTest < ServerTest
  def teardown
    Typhoeus::Expectation.clear
    callbacks = %i[on_complete on_success on_failure on_headers on_progress]
    [Typhoeus.before, *callbacks.map { |name| Typhoeus.public_send(name) }].each(&:clear)
    settings = %i[block_connection memoize verbose timeout connecttimeout cache user_agent proxy]
    settings.each { |name| Typhoeus::Config.public_send(:"#{name}=", nil) }
  end

  def request(path, **options, &block)
    request = Typhoeus::Request.new(url(path), { timeout: 20 }.merge(options))
    request.on_complete(&block) if block
    request
  end

  # A test server of its own, whose log nobody else writes.
  def with_real_server(*arguments)
    real_server = TestServer.new(*arguments)
    yield real_server
  ensure
    real_server&.stop
  end

  def refused(klass = Ethon::Errors::InvalidOption, text = nil, &block)
    error = assert_raises(klass, &block)
    assert_match text, error.message if text
    error
  end
end
