# The programs in the documents run, and what stands before and after a change prints the same.
require "test_helper"
require_relative "server"
require "open3"

class FaradayDocumentsTest < Minitest::Test
  DOCUMENTS = File.expand_path("../../../../docs", __dir__)
  LIBRARY = File.expand_path("../../../lib", __dir__)

  def setup
    @server = Server.new { |request|
      request.path == "/slow" ? :hang : [200, {}, "#{request.verb} #{request.query} #{request.body}"]
    }
  end

  def teardown = @server.stop

  def programs(name) = File.read(File.join(DOCUMENTS, name)).scan(/^```ruby\n(.*?)^```/m).flatten

  def run_program(program)
    program = program.gsub("http://127.0.0.1:8080", @server.url(""))
    output, errors, status = Open3.capture3(RbConfig.ruby, "-I#{LIBRARY}", "-", stdin_data: program)
    assert status.success?, errors
    output
  end

  def test_from_faraday
    before, after, *others = programs("from-faraday.md").map { |program| run_program(program) }
    assert_equal before, after
    assert_equal "GET name=Ada \n200\n", after
    assert_equal ["200\n", "1\ntotal\ntrue\n", "200\n", "100\n"], others
  end

  def test_call_and_sunset
    assert_equal ["200\n1\n", "user_agent=pokedex; app_name=pokedex;\nSat, 31 Dec 2089 00:00:00 GMT\n"],
      (programs("call-and-sunset.md").map { |program| run_program(program) })
  end
end
