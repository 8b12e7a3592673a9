# Every program in the guides runs, and prints what is said here.
require "test_helper"
require "documents"

class GuidesTest < ServerTest
  # They need a checkout anyway, so they run on the lab's server alone. All others run on the tutorial's too.
  OF_THE_LAB = %w[measuring-your-service fetch].freeze
  PRINTED = {
    "concurrency" => ["100\n", nil],
    "timeouts" => ["200\n", "first_byte\ntrue\n", "[200, 200]\n"],
    "rails-and-sidekiq" => ["", "true\n", "1: 133\n", "http://127.0.0.1/r/1 200\n"],
    "measuring-your-service" => ["3\n"],
    "fetch" => ["100\n"],
    "features" => ["200\n", "1\n{\"name\":\"Ada\"}\n5\n", "503\n200\nthe budget is used up\n", nil],
    "feature-signatures" => ["200\n", "200\n"],
    "feature-cache" => ["nil\n\"Hecaton; hit\"\n", nil, nil],
    "feature-circuit-breaker" => ["200\n{}\n"],
    "feature-compression" => ["200\n"]
  }.freeze

  PRINTED.each do |page, printed|
    define_method("test_the_programs_of_#{page}_print_what_they_should") do
      servers = [real_server = TestServer.new]
      servers << Documents::TutorialServer.shared unless OF_THE_LAB.include?(page)
      programs = Documents.programs("docs/#{page}.md")
      # nil: a part of a program, which is not run.
      assert_equal(printed.size, programs.size)
      programs.zip(printed) do |program, expected|
        servers.each { |server| assert_equal(expected, run_program(program, server.url)) } if expected
      end
    ensure
      real_server.stop
    end
  end

  private

  def run_program(program, url)
    said, complaints, status = Dir.mktmpdir do |folder|
      Open3.capture3({ "HECATON_BINARY" => TestServer::WITH_FETCH }, RbConfig.ruby, "-w", "-I#{Documents::LIB}", "-",
        stdin_data: program.gsub("http://127.0.0.1:8080", url), chdir: folder)
    end
    assert_predicate status, :success?, complaints
    assert_empty complaints
    said
  end
end
