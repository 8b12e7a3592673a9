# The smallest part of the benchmark from end to end, as a user runs it: its document, its table, its judgement.
require "minitest/autorun"
require "json"
require "open3"
require "tmpdir"

class BenchTest < Minitest::Test
  HECATON = File.expand_path("../bin/hecaton", __dir__)

  def bench(*arguments)
    Dir.mktmpdir do |folder|
      output, log, status = Open3.capture3(HECATON, "bench", "--quick", *arguments, "--out", folder)
      assert status.success?, log
      yield output, log, folder
    end
  end

  def test_the_document_holds_the_parts_and_what_became_of_the_goals
    bench("--part", "tls", "--json", "--seed", "7") do |output, _, folder|
      document = JSON.parse(output)
      assert_equal %w[schema command parts goals left_out], document.keys
      part = document["parts"].fetch(0)
      assert_equal [["tls"], [], true],
        [document["parts"].map { _1["name"] }, document["left_out"], part["plan"]["tls"]]
      part["rows"].each { |row| assert_equal [true, 0], row.values_at("verified", "errors"), row }
      part["rounds"].each { |round| assert_equal round["seen"]["requests"], connections_counted(round), round }
      assert_equal document, JSON.parse(File.read(File.join(folder, "bench.json")))
      assert_equal part["rows"], JSON.parse(File.read(File.join(folder, "tls", "run.json")))["rows"]
    end
  end

  # Every request came on a connection of its own, or on one that was open.
  def connections_counted(round)
    seen = round["seen"]
    return seen["connections_used"] if round["keepalive"] == false

    assert_operator seen["connections_used"], :<=, round["concurrency"]
    seen["requests"]
  end

  def test_the_terminal_has_a_table_and_a_judgement_of_each_goal
    bench("--part", "memory") do |output, log,|
      assert_match(/hecaton-ruby +200 /, output)
      assert_match(/load average [\d.]+ before the run/, output)
      assert_match(/peak memory of hecaton-ruby at concurrency 200, 133-byte bodies: [\d.]+ MB, goal at most [\d.]+ MB: (met|missed)/,
        output.gsub(/\s+/, " "))
      assert_match(/at least \d+ s, seed \d+/, log)
    end
  end

  def test_an_unknown_part_is_a_sentence
    _, log, status = Open3.capture3(HECATON, "bench", "--part", "many,few")
    assert_equal 2, status.exitstatus
    assert_equal "hecaton: no part is called many,few; the parts are one, " \
      "many, gzip, adapters, current, memory, ten-thousand, tls, http2\n", log
  end
end
