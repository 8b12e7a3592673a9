# Runs a program once as it is and once with one line changed, each against a test server of its own.
require "test_helper"
require "open3"
require "tempfile"

module NetHTTPFamily
  FOLDER = File.expand_path("../../programs", __dir__)
  LIB = File.expand_path("../../../lib", __dir__)
  # Code after the changed line, which prints at the end how many clients of Hecaton there are.
  WITNESS = 'at_exit { warn "clients of Hecaton: #{ObjectSpace.each_object(Hecaton::Client).count}" }'.freeze

  # Expects the same output from the program as it is, and with `replacement` instead of `line`.
  def assert_same_output(name, line, replacement)
    program = File.read("#{FOLDER}/#{name}.rb")
    assert_operator program.lines.size, :>=, 60
    assert_equal 1, program.lines.count("#{line}\n"), "the program has its line #{line.inspect} once"
    real, said, requested = run_program(program)
    assert_empty said.lines.grep(/clients of Hecaton/)
    ours, said, ours_requested = run_program(program.sub("#{line}\n", "#{replacement}; #{WITNESS}\n"))
    assert_match(/clients of Hecaton: [1-9]/, said)
    assert_equal real, ours
    assert_operator real.lines.size, :>=, 15
    assert_equal requested.values_at("requests", "aborted").sum, ours_requested.values_at("requests", "aborted").sum
  end

  private

  # The program's output, its warnings, and the requests that its test server received.
  def run_program(program)
    real_server = TestServer.new
    Tempfile.create(["program", ".rb"]) do |file|
      file.write(program)
      file.flush
      output, said, status = Open3.capture3(RbConfig.ruby, "-I#{LIB}", file.path, real_server.url)
      assert status.success?, said
      [output, said, real_server.ledger]
    end
  ensure
    real_server&.stop
  end
end
