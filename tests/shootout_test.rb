# A small shootout from end to end, as a user runs it: its document, its files, its terminal, its environment.
require "minitest/autorun"
require "json"
require "open3"
require "tmpdir"

class ShootoutTest < Minitest::Test
  HECATON = File.expand_path("../bin/hecaton", __dir__)
  CLIENTS = %w[hecaton-ruby net-http typhoeus].freeze
  CLEAN = %w[HECATON_CONCURRENCY HECATON_PER_THREAD HECATON_SKIP].to_h { |name| [name, nil] }.freeze
  STANDING_KEYS = %w[client place letters ratio_to_baseline ratio_low ratio_high
                     user_seconds system_seconds real_seconds
                     megabytes_per_second first_request_ms boot_ms not_ranked].freeze

  # Where bin/test looks for the report that its browser opens.
  def self.out = @out ||= File.join(ENV.fetch("HECATON_SCRATCH") { Dir.mktmpdir }, "shootout")

  def self.run_json
    @run_json ||= Open3.capture3(CLEAN, HECATON, "shootout", *CLIENTS, "--requests", "240", "--concurrency", "2",
      "--delay", "fixed:2ms", "--rounds", "6", "--seed", "7", "--json", "--out", out)
  end

  def document
    output, log, status = ShootoutTest.run_json
    assert status.success?, log
    JSON.parse(output)
  end

  def standings = document["ranking"]["clients"].to_h { |client| [client["client"], client] }

  def test_every_client_is_verified_and_ranked_and_the_baseline_loader_is_not
    assert_equal [*CLIENTS, "baseline-loader"].sort, standings.keys.sort
    standings.each_value { |client| assert_equal STANDING_KEYS, client.keys }
    assert_equal [1, 2, 3], standings.values_at(*CLIENTS).map { |client| client["place"] }.sort
    assert_nil standings["baseline-loader"]["place"]
    document["rows"].each do |row|
      assert_equal [true, nil, 0, 0], row.values_at("verified", "rejected", "errors", "duplicates"), row
      assert_equal [2, 2, 16_384], row.values_at("connections", "peak_in_flight", "body_bytes"), row
    end
  end

  def test_each_client_sends_the_requested_number_shared_out_among_its_rounds
    CLIENTS.each do |client|
      rounds = document["rounds"].select { |round| round["client"] == client }
      assert_equal [40] * 6, rounds.map { |round| round["count"] }
      assert_equal [*0..5], rounds.map { |round| round["invocation"] }.uniq.sort, "processes"
      rounds.each { |round| assert_equal round["claim"]["sum"], round["seen"]["expected_sum"] }
    end
  end

  def test_the_cold_start_of_every_process_is_kept
    starts = document["starts"].group_by { |start| start["client"] }
    CLIENTS.each { |client| assert_equal 6, starts[client].size }
    document["starts"].each { |start| assert_operator start.values_at("boot_ns", "first_request_ns").min, :>, 0 }
    assert_equal "idiomatic", document["environment"]["clients"]["typhoeus"]["approach"]
  end

  def test_ratios_are_to_net_http
    assert_equal "net-http", document["plan"]["baseline"]
    assert_nil standings["net-http"]["ratio_to_baseline"]
    low, ratio, high = standings["typhoeus"].values_at("ratio_low", "ratio_to_baseline", "ratio_high")
    assert low <= ratio && ratio <= high, "#{low} #{ratio} #{high}"
  end

  def test_files_are_written_and_shown_again
    document
    page = File.read(File.join(ShootoutTest.out, "report.html"))
    assert_includes page, "Which client is the fastest?"
    csv, status = Open3.capture2(HECATON, "report", ShootoutTest.out, "--csv")
    assert status.success?
    assert_equal CLIENTS.size + 2, csv.lines.size
    text, = Open3.capture2(HECATON, "report", ShootoutTest.out)
    assert_match(/240 requests of each client, 2 at a time; 16 KB of JSON parsed/, text)
    assert_match(/baseline loader/, text)
  end

  def test_the_environment_gives_defaults_and_an_option_wins
    small = %w[shootout --rounds 1 --json --quiet hecaton-ruby net-http typhoeus]
    environment = { "HECATON_CONCURRENCY" => "2", "HECATON_PER_THREAD" => "7", "HECATON_SKIP" => "typhoeus" }
    plan = plan(environment, small)
    assert_equal [%w[hecaton-ruby net-http baseline-loader], [2], 14],
      plan.values_at("clients", "concurrency", "requests")
    plan = plan(environment, [*small, "--requests", "9", "--concurrency", "3", "--skip", "net-http"])
    assert_equal [%w[hecaton-ruby typhoeus baseline-loader], [3], 9],
      plan.values_at("clients", "concurrency", "requests")
    assert_equal "hecaton-ruby", plan["baseline"], "net-http is not there to be compared with"
  end

  def plan(environment, arguments)
    Dir.mktmpdir do |out|
      output, log, status = Open3.capture3(CLEAN.merge(environment), HECATON, *arguments, "--out", out)
      assert status.success?, log
      JSON.parse(output)["plan"]
    end
  end
end
