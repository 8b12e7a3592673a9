# A whole program for Typhoeus prints the same when one line of it is another.
require "test_helper"
require "open3"
require "tempfile"

class TyphoeusProgramTest < Minitest::Test
  PROGRAM = File.expand_path("../../programs/typhoeus.rb", __dir__)
  LIB = File.expand_path("../../../lib", __dir__)

  def run_program(text)
    Tempfile.create(["program", ".rb"]) do |file|
      file.write(text)
      file.close
      output, complaints, status = Open3.capture3(RbConfig.ruby, "-I#{LIB}", file.path, TestServer.shared.url)
      assert status.success?, complaints
      output
    end
  end

  def test_the_same_output
    original = File.read(PROGRAM)
    changed = original.sub(/^require "typhoeus"$/, 'require "hecaton/typhoeus"')
    assert_equal 1, original.lines.zip(changed.lines).count { |one, other| one != other }
    expected = run_program(original).gsub("Could not", "Couldn't")
    assert_operator expected.lines.size, :>, 18
    assert_equal expected, run_program(changed)
  end
end
