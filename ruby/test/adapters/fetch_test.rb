# Bulk jobs: handed over, recorded once each, read back, and stopped without a child left behind.
require "test_helper"
require "tmpdir"
require "hecaton/fetch"

class FetchTest < ServerTest
  Fetch = Hecaton::Fetch

  def setup
    super
    @was = ENV["HECATON_BINARY"]
    ENV["HECATON_BINARY"] = TestServer::WITH_FETCH
  end

  def teardown
    ENV["HECATON_BINARY"] = @was
    super
  end

  # Yields a folder for a job.
  def folder = Dir.mktmpdir { |folder| yield File.join(folder, "out") }

  # Each test's own URLs.
  def urls(count, path = "/echo") = Array.new(count) { |number| url("#{path}?fetch=#{number}") }

  def test_each_input_has_one_record_and_the_same_again_sends_nothing
    with_own_server { folder { |out| each_input_has_one_record(out) } }
  end

  def each_input_has_one_record(out)
    seen = []
    assert_nil Fetch.run(urls(50), into: out, concurrency: 4) { |record| seen << record }
    assert_equal (0...50).to_a, seen.map { |record| record["n"] }.sort
    assert_equal [["response", 200, true]], seen.map { |record| record.values_at("outcome", "status", "ok") }.uniq
    assert_equal urls(50).sort, seen.map { |record| record["url"] }.sort
    assert_equal 50, real_server.arrived
    again = Fetch.run(urls(50), into: out, concurrency: 4)
    assert_instance_of Enumerator, again
    assert_equal 50, again.count
    assert_equal 50, real_server.arrived
  end

  def test_columns_fill_a_template
    folder do |out|
      rows = [{ id: 7, name: "a b" }, { id: 8, name: "c/d" }].each
      records = Fetch.run(rows, into: out, template: url("/echo?id={id}&name={name}"),
        header: { "X-Id" => "{id}" }, keep_body: "inline").sort_by { |it| it["n"] }
      assert_equal [{ "id" => "7", "name" => "a b" }, { "id" => "8", "name" => "c/d" }],
        records.map { |record| record["columns"] }
      fields = records.map { |record|
        JSON.parse(record["body"]["text"])["headers"].to_h.transform_keys(&:downcase)["x-id"]
      }
      assert_equal %w[7 8], fields
      assert_includes records.last["url"], "name=c%2Fd"
    end
  end

  def test_a_list_in_a_file_and_records_that_match
    folder do |out|
      list = "#{out}.txt"
      File.write(list, (urls(3) << "rubbish").join("\n"))
      Fetch.run(list, into: out) { nil }
      assert_equal 4, Fetch.records(out).count
      assert_equal ["rubbish line 4"], Fetch.records(out, where: "outcome == 'invalid'").map { |record|
        "rubbish line #{record["line"]}"
      }
      assert_equal 2, Fetch.records(out, limit: 2).count
      assert_equal 1, Fetch.records(out).lazy.select { |record| record["ok"] }.first(1).size
      enumerator = Fetch.records(out)
      refute_equal enumerator.next["n"], enumerator.next["n"]
    end
  end

  def test_bad_input_says_what_the_command_says
    folder do |out|
      assert_match(/skew/, assert_raises(ArgumentError) {
        Fetch.run([{ sku: 1 }], into: out, template: url("/{skew}"))
      }.message)
      assert_match(/--no-such-option/, assert_raises(ArgumentError) {
        Fetch.run([], into: out, no_such_option: 1)
      }.message)
      assert_match(/column 1/, assert_raises(ArgumentError) { Fetch.records(out, where: "stats").to_a }.message)
      assert_raises(ArgumentError) { Fetch.run(7, into: out) }
      refute_path_exists out
    end
  end

  def test_a_program_that_gives_up_leaves_no_child
    folder do |out|
      endless = Enumerator.new { |list| urls(3).each { |one| list << one } && raise("enough") }
      assert_equal "enough", assert_raises(RuntimeError) { Fetch.run(endless, into: out) }.message
      running = Dir["/proc/[0-9]*/cmdline"].map { |file| File.read(file) rescue "" }
      assert_empty running.grep(/#{Regexp.escape(out)}/)
    end
  end

  def test_without_the_command_it_says_how_to_get_it
    ENV["HECATON_BINARY"] = "/nowhere/hecaton"
    assert_match(%r{/nowhere/hecaton was not found}, assert_raises(Fetch::Error) { Fetch.run([], into: "out") }.message)
  end
end
