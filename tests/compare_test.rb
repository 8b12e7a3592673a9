# Small comparisons from end to end, as a user runs them: a pair, keep-alive connections, batches.
require "minitest/autorun"
require "csv"
require "json"
require "open3"
require "tmpdir"

class CompareTest < Minitest::Test
  HECATON = File.expand_path("../bin/hecaton", __dir__)

  # Where bin/test looks for the reports that its browser opens.
  def self.out = @out ||= ENV.fetch("HECATON_SCRATCH") { Dir.mktmpdir }

  # Runs a comparison, and gives its document, its stderr and its folder, of this name.
  def compare(name, *arguments)
    folder = File.join(CompareTest.out, name)
    output, log, status = Open3.capture3(HECATON, "compare", *arguments, "--seed", "7", "--json", "--out", folder)
    assert status.success?, log
    yield JSON.parse(output), log, folder
  end

  def assert_verified(document)
    document["rows"].each { |row| assert_equal [true, nil, 0], row.values_at("verified", "rejected", "errors"), row }
  end

  def test_a_pair_of_settings_is_compared_by_what_the_origin_saw
    compare("pair", "hecaton-ruby", "hecaton-ruby", "--set", "keepalive=off", "A:concurrency=2", "--rounds",
      "2") do |document, log, folder|
      assert_verified document
      own = document["rows"].select { |row| row["client"] == "hecaton-ruby" }
      keep_alive, new = own.partition { |row| row.fetch("keepalive", true) }
      assert_equal [[2], [10]], [keep_alive, new].map { |rows| rows.map { |row| row["concurrency"] } }
      assert_operator new[0]["connections"], :>, 10
      pair = document["comparison"]["pair"]
      assert_equal ["hecaton-ruby (concurrency 2, keepalive on)", "hecaton-ruby (concurrency 10, keepalive off)"],
        pair["names"]
      assert_match(/as fast as/, document["comparison"]["verdict"][0])
      assert_includes log, pair["names"][0] # the report, beside the document on stdout
      assert_equal document["comparison"], JSON.parse(File.read(File.join(folder, "run.json")))["comparison"]
      shown = shown_again(folder).split.join(" ")
      pair["names"].each { |name| assert_includes shown, name }
    end
  end

  def shown_again(folder)
    output, log, status = Open3.capture3(HECATON, "report", folder)
    assert status.success?, log
    output
  end

  def test_keep_alive_connections_are_compared_over_tls_at_every_round_trip
    compare("keepalive", "keepalive", "hecaton-ruby", "--rounds", "1") do |document, _, folder|
      assert_verified document
      trips = document["comparison"]["round_trips"]
      assert_equal [0, 1, 20, 100], trips.map { |trip| trip["round_trip_ms"] }
      # Nothing is faster than the round trips that it has to wait for: one on a keep-alive connection, three on a new
      # one.
      trips.each do |trip|
        assert_operator trip["keep_alive_ms"]["value"], :>=, trip["round_trip_ms"]
        assert_operator trip["new_ms"]["value"], :>=, 3 * trip["round_trip_ms"]
        assert_operator trip["predicted_gain"], :>, 1
      end
      assert_operator trips.last["gain"]["value"], :>, 1.5
      assert_includes File.read(File.join(folder, "report.html")), "What do keep-alive connections save?"
    end
  end

  def test_batches_are_timed_both_ways_and_averaged_for_spreadsheets
    compare("sync-async", "sync-async", "typhoeus", "-m", "6", "-l", "3", "--delay",
      "fixed:20ms") do |document, _, folder|
      assert_verified document
      batches = document["comparison"]["batches"]
      assert_equal 6, batches.last["size"]
      assert_operator batches.last["sync_average_ms"], :>=, 6 * 20
      assert_operator batches.last["async_average_ms"], :>=, 20
      assert_operator batches.last["speed_up"]["value"], :>, 1.5
      table = CSV.parse(File.read(File.join(folder, "sync-async.csv")), headers: true)
      assert_equal %w[mul loop sync async], table.headers
      assert_equal batches.map { |batch| batch["size"].to_s }, table["mul"]
      assert_equal ["3"], table["loop"].uniq
    end
  end

  def test_what_can_not_be_compared_is_a_sentence
    {
      %w[hecaton-ruby hecaton-ruby] => /A and B are both hecaton-ruby/,
      %w[keepalive rest-client] => /rest-client does not keep connections/,
      %w[hecaton-ruby typhoeus --set colour=red] => /`colour` cannot be set/,
      %w[sync-async typhoeus -u http://example.com/] => /--i-own-this-host/,
    }.each do |arguments, words|
      _, log, status = Open3.capture3(HECATON, "compare", *arguments)
      assert_equal 2, status.exitstatus, log
      assert_match words, log
    end
  end
end
