# The Ruby in docs/from-typhoeus.md runs as it stands.
require_relative "drop_in"

class TyphoeusDocsTest < DropInTest
  PAGE = File.expand_path("../../../../docs/from-typhoeus.md", __dir__)

  def test_each_example
    examples = File.read(PAGE).scan(/^```ruby\n(.*?)^```$/m).flatten
    outputs = examples.map do |example|
      capture_io { eval(example.gsub("http://127.0.0.1:8080", real_server.url), binding, PAGE) }.first
    end
    assert_equal ["133\n" * 10, "200\n"], outputs
  end

  # The page's list of options that have no effect.
  def test_options_without_effect
    names = File.read(PAGE)[/^These options have no effect.*?\n\n/m].scan(/`(\w+)`/).flatten.map(&:to_sym)
    assert_operator names.size, :>, 8
    names.each { |name| assert_equal 200, request("/r/1", name => 1).run.code }
  end
end
