# A program for Faraday prints the same on Hecaton, with one line changed.
require "test_helper"
require_relative "../faraday/server"
require "open3"
require "zlib"

class FaradayProgramTest < Minitest::Test
  PROGRAM = File.expand_path("../../programs/faraday.rb", __dir__)
  LINE = "Faraday.default_adapter = :net_http\n".freeze
  OURS = "require \"hecaton/faraday\"; Faraday.default_adapter = :hecaton\n".freeze
  LIBRARY = File.expand_path("../../../lib", __dir__)

  def test_the_output_is_the_same
    source = File.read(PROGRAM)
    assert_operator source.lines.size, :>=, 60
    assert_equal 1, source.scan(LINE).size
    theirs, ours = [source, source.sub(LINE, OURS)].map { |program| run_against_a_server(program) }
    theirs.zip(ours) { |all, others| all.zip(others) { |one, other| assert_equal one, other } }
    assert_equal theirs.map(&:size), ours.map(&:size)
    output, requests, = ours
    assert_equal "# The end\n", output.last
    assert_operator requests.size, :>=, 17
  end

  private

  # The program's output, and the requests that the server received.
  def run_against_a_server(program)
    busy = [503, 503, 200]
    server = Server.new { |request| response(request, busy) }
    output, errors, status = Open3.capture3(RbConfig.ruby, "-I#{LIBRARY}", "-", server.url(""), stdin_data: program)
    assert status.success?, errors
    arrived = server.arrived.map do |request|
      [request.verb, request.target, request.body.gsub(/\h{32}/, "BOUNDARY")]
    end
    [output.gsub(/\h{32}/, "BOUNDARY").lines, arrived]
  ensure
    server&.stop
  end

  def response(request, busy)
    case request.path
    when %r{/missing} then [404, {}, "no such book", "Not Found"]
    when %r{/broken} then [500, {}, "", "Internal Server Error"]
    when %r{/slow} then :hang
    when %r{/busy} then busy.shift.then { |status| [status, {}, "now", status == 503 ? "Service Unavailable" : "OK"] }
    when %r{/compressed} then [200, { "Content-Encoding" => "gzip" }, Zlib.gzip("plain " * 10), "OK"]
    when %r{/large} then [200, {}, "0123456789" * 30_000, "OK"]
    else [200, { "Content-Type" => "application/json", "X-Total" => "12" }, JSON.generate(reported(request)), "OK"]
    end
  end

  # Net::HTTP gives a type of its own to bodies that have none, even to an empty one.
  def reported(request)
    stored = %w[accept authorization x-client x-request content-length]
    stored << "content-type" unless request.body.empty?
    body = request.body.dup.force_encoding("UTF-8").gsub(/\h{32}/, "BOUNDARY")
    { verb: request.verb, target: request.target, body: body, headers: request.headers.slice(*stored).sort }
  end
end
