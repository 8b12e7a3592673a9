# Every example of docs/testing.md runs, and what it asserts holds.
require "minitest/autorun"
require "open3"
require "tempfile"

class DocsTest < Minitest::Test
  LIBRARY = File.expand_path("../../../lib", __dir__)
  PAGE = File.expand_path("../../../../docs/testing.md", __dir__)
  EXAMPLES = File.read(PAGE).scan(/^```ruby\n(.*?)^```$/m).flatten
  PROGRAMS, PIECES = EXAMPLES.partition { |example| example.start_with?("require") }
  VCR = Gem::Specification.any? { |gem| gem.name == "vcr" }

  # Those that stand alone.
  PROGRAMS.each.with_index(1) do |program, number|
    define_method("test_program_#{number}") do
      skip "VCR is not installed" if program.include?("VCR") && !VCR
      rspec = program.include?("RSpec.describe")
      said = run_program(program, *(rspec ? %w[-S rspec --no-color] : []))
      expected = rspec ? /^1 example, 0 failures$/ : /^1 runs, [1-9]\d* assertions, 0 failures, 0 errors, 0 skips$/
      assert_match(expected, said)
    end
  end

  # Those that are the inside of a test, all in one program.
  def test_pieces
    tests = PIECES.map.with_index do |piece, index|
      "define_method(:test_#{index}) do\n#{piece.sub(/^class (\w+) < (\S+)/, '\1 = Class.new(\2) do')}\nend\n"
    end
    said = run_program(<<~RUBY)
      require "minitest/autorun"
      require "hecaton/testing/minitest"
      class PageTest < Minitest::Test
        def setup = Hecaton::Testing.enable!
        #{tests.join.gsub(/^Recorder = /, "recorder_class = ").gsub("Recorder.new", "recorder_class.new")}
      end
    RUBY
    assert_operator PIECES.size, :>=, 7
    assert_match(/^#{PIECES.size} runs, \d+ assertions, 0 failures, 0 errors, 0 skips$/, said)
  end

  def test_they_were_found
    assert_equal 5, PROGRAMS.size
  end

  private

  def run_program(text, *options)
    Tempfile.create(%w[docs_ .rb]) do |file|
      file.write(text)
      file.close
      return Open3.capture2e(RbConfig.ruby, "-I#{LIBRARY}", *options, "-I#{LIBRARY}", file.path).first
    end
  end
end
