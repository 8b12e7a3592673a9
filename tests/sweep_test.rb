# A tiny sweep from end to end, as a user runs it: its document, its files, its terminal.
require "minitest/autorun"
require "json"
require "open3"
require "tmpdir"

class SweepTest < Minitest::Test
  HECATON = File.expand_path("../bin/hecaton", __dir__)
  ROW_KEYS = %w[client body_bytes delay_ms concurrency requests_per_second cpu_percentage cpu_ms_per_request
                cpu_outside_percentage p50_ms p99_ms percentiles peak_rss_mb errors connections opened_per_request
                duplicates peak_in_flight baseline_loader_ratio verified rejected].freeze
  TINY = %w[sweep --client hecaton-ruby --client typhoeus --concurrency 1,8 --body 133 --body 2000 --delay fixed:2ms
            --rounds 2 --time 50ms --seed 7].freeze

  NOTHING = "This run recommends nothing".freeze

  # Where bin/test looks for the report that its browser opens.
  def self.out = @out ||= File.join(ENV.fetch("HECATON_SCRATCH") { Dir.mktmpdir }, "sweep")

  def self.run_json = @run_json ||= Open3.capture3(HECATON, *TINY, "--json", "--out", out)

  def document
    output, log, status = SweepTest.run_json
    assert status.success?, log
    JSON.parse(output)
  end

  def test_the_document_has_its_promised_shape
    assert_equal %w[schema command environment plan rounds starts rows recommendations], document.keys
    assert_equal 1, document["schema"]
    # Warnings are there only if there are any, as on a busy machine.
    document["rows"].each { |row| assert_equal ROW_KEYS, row.keys - ["warnings"] }
  end

  def test_every_cell_is_a_row_and_every_row_is_verified
    cells = document["rows"].map { |row| row.values_at("client", "body_bytes", "concurrency") }
    assert_equal %w[hecaton-ruby baseline-loader typhoeus].product([133, 2000], [1, 8]).sort, cells.sort
    document["rows"].each do |row|
      assert_equal [true, nil, 0, 0], row.values_at("verified", "rejected", "errors", "duplicates"), row
      assert_equal [row["concurrency"]] * 2, row.values_at("connections", "peak_in_flight"), row
      assert_operator row["p50_ms"], :>=, 2
      assert_operator row["requests_per_second"], :<=, row["concurrency"] / 0.002
    end
  end

  def test_every_round_is_kept_with_claim_and_ledger
    controls, measured = document["rounds"].partition { |round| round["control"] }
    assert_equal 3 * 2 * 2 * 2, measured.size
    assert_equal({ "again" => 2, "reference_run" => 2 }, controls.map { |round| round["control"] }.tally)
    document["rounds"].each do |round|
      assert_equal round["claim"]["sum"], round["seen"]["expected_sum"]
      assert_equal round["count"], round["seen"]["distinct"]
    end
  end

  def test_the_advice_is_for_each_client_and_body_and_its_speedup_follows_from_the_rounds
    document["recommendations"].each do |advice|
      one, chosen = [1, advice["concurrency"]].map { |concurrency| rates(advice, concurrency) }
      range = (chosen.min / one.max * 0.999)..(chosen.max / one.min * 1.001)
      assert_includes range, advice["speedup_over_one"], advice
    end
    advised = document["recommendations"].map { |advice| advice.values_at("client", "body_bytes") }.sort
    # Where other programs disturbed every round, a run recommends nothing and says so.
    return assert_includes report, NOTHING if advised.empty?

    assert_equal %w[hecaton-ruby typhoeus].product([133, 2000]), advised
  end

  def report = File.read(File.join(SweepTest.out, "report.html"))

  # Requests per second of each round of a cell. Which cell is the fastest on a busy machine is nobody's promise.
  def rates(advice, concurrency)
    document["rounds"].reject { |round| round["control"] }.filter_map do |round|
      cell = round.values_at("client", "body_bytes", "concurrency")
      round["count"] * 1e9 / round["wall_ns"] if cell == [*advice.values_at("client", "body_bytes"), concurrency]
    end
  end

  def test_files_are_written
    document
    assert_equal document["rows"], JSON.parse(File.read(File.join(SweepTest.out, "run.json")))["rows"]
    assert_includes report, "<svg"
  end

  def test_the_terminal_has_tables_and_a_verdict
    output, log, status = Open3.capture3(HECATON, *TINY, "--out", Dir.mktmpdir)
    assert status.success?, log
    assert_match(/133-byte bodies/, output)
    return if output.gsub(/\s+/, " ").include?(NOTHING)

    assert_match(/hecaton-ruby, 133-byte bodies: use concurrency/, output)
    assert_match(/typhoeus, 2,000-byte bodies: use concurrency/, output)
  end
end
