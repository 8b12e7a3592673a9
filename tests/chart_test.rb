# README.md links a run, and its chart and the figures beside the chart are taken from this run.
require "minitest/autorun"
require "open3"
require "tmpdir"

class ChartTest < Minitest::Test
  ROOT = File.expand_path("..", __dir__)
  README = File.read(File.join(ROOT, "README.md"))
  RUN = README[%r{\[the run\]\((docs/results/[^)]+)/README\.md\)}, 1]

  def test_the_chart_is_the_one_of_the_linked_run
    Dir.mktmpdir do |folder|
      said, status = Open3.capture2e(File.join(ROOT, "bin/chart"), File.join(ROOT, RUN), folder)
      assert status.success?, said
      %w[clients-light.svg clients-dark.svg].each do |name|
        assert_equal File.read(File.join(folder, name)), File.read(File.join(ROOT, "docs/images", name)), name
      end
      figures = said.scan(/: ([\d,]+) requests per second/).flatten
      assert_equal 3, figures.size, said
      figures.each { |figure| assert_includes README, figure }
    end
  end

  def test_a_run_without_these_clients_is_refused
    Dir.mktmpdir do |folder|
      run = File.join(ROOT, "docs/results/2026-11-22-keepalive")
      said, status = Open3.capture2e(File.join(ROOT, "bin/chart"), run, folder)
      refute status.success?
      assert_match(/has no row of .* with 50 requests in flight/, said)
      assert_empty Dir.children(folder)
    end
  end
end
