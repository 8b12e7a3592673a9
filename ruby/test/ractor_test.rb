# Ractors: outcomes can be handed to them, and what they cannot do is refused in a sentence.
require "test_helper"
require "open3"

class RactorTest < ServerTest
  # The output of a process of its own: Ractors change how the whole process runs.
  def printed(code)
    lib = File.expand_path("../lib", __dir__)
    output, status = Open3.capture2e(RbConfig.ruby, "-W0", "-I#{lib}", "-rhecaton", "-e", "Thread.report_on_exception = false\n#{code}", url("/echo"))
    assert_predicate status, :success?, output
    output
  end

  def test_outcomes_can_be_handed_over
    assert_equal "[200, \"GET\", 1]\nHecaton::ConnectError\n", printed(<<~'RUBY')
      client = Hecaton::Client.new(timeout: 10, proxy: false)
      response = Ractor.make_shareable(client.get(ARGV.first))
      p Ractor.new(response) { |response| [response.status, response.http_method, response.attempts.size] }.take
      error = Ractor.make_shareable(client.get_all(["http://127.0.0.1:1/"]).first)
      p Ractor.new(error) { |error| error.class }.take
    RUBY
  end

  def test_no_request_is_sent_in_another_than_the_main_one
    told = printed(<<~'RUBY')
      Hecaton.get(ARGV.first, timeout: 10)
      [true, false].each do |shared|
        Ractor.new(shared) { |shared| shared ? Hecaton.get("http://127.0.0.1:1/", timeout: 1) : Hecaton::Client.new(timeout: 1) }.take
      rescue Ractor::RemoteError => error
        puts "#{error.cause.class}: #{error.cause.message}"
      end
    RUBY
    assert_equal ["Ractor::UnsafeError: Hecaton sends requests in the main Ractor alone: send them there, and hand over outcomes (Ractor.make_shareable)"] * 2,
      told.lines(chomp: true)
  end
end
