# The Ruby in docs/from-typhoeus.md runs as it stands.
require_relative "drop_in"
require "documents"

class TyphoeusDocsTest < DropInTest
  PAGE = File.expand_path("../../../../docs/from-typhoeus.md", __dir__)

  def test_each_example
    outputs = Documents.programs("docs/from-typhoeus.md").map { |example| Documents.run_on_both(example) }
    assert_equal [[["133\n" * 10, ""]], [["200\n", ""]]], outputs
  end

  # The page's list of options that have no effect.
  def test_options_without_effect
    names = File.read(PAGE)[/^These options have no effect.*?\n\n/m].scan(/`(\w+)`/).flatten.map(&:to_sym)
    assert_operator names.size, :>, 8
    names.each { |name| assert_equal 200, request("/r/1", name => 1).run.code }
  end
end
