# Hecaton.get and its sisters: one client for all threads and both sides of a fork, and no request without a deadline.
require "test_helper"
require "open3"
require "tmpdir"

class SharedClientTest < ServerTest
  def teardown = Hecaton.client = nil

  def test_every_verb
    %w[get head post put patch delete options].each do |verb|
      response = Hecaton.public_send(verb, url("/echo"), timeout: 20, headers: { "x-a" => "1" })
      assert_equal [200, verb.upcase], [response.status, response.http_method]
    end
    assert_equal ["POST", '{"a":1}'],
      Hecaton.post(url("/echo"), timeout: 20, json: { a: 1 }).json.values_at("method", "body")
    assert_equal "BREW", Hecaton.request("BREW", url("/echo"), timeout: 20).json["method"]
    assert_equal 3000, Hecaton.get(url("/bytes/3000"), timeout: 20) { |stream| stream.read.bytesize }
    assert_equal [200, 404], Hecaton.get_all([url("/r/1"), url("/status/404")], timeout: 20).map(&:status)
    assert_equal %w[GET PUT],
      Hecaton.all([[:get, url("/echo")], [:put, url("/echo")]], timeout: 20, concurrency: 2).map { |outcome|
        outcome.json["method"]
      }
    Dir.mktmpdir { |folder| assert_equal 70, Hecaton.download(url("/bytes/70"), "#{folder}/x", timeout: 20).size }
  end

  def test_no_request_without_a_deadline
    sent = requests_of do
      [-> { Hecaton.get(url("/r/1")) }, -> { Hecaton.post(url("/r/1"), timeout: nil) }, -> {
        Hecaton.request(:get, url("/r/1"))
      },
       -> { Hecaton.get_all([url("/r/1")]) }, -> { Hecaton.all([[:get, url("/r/1")]]) },
       -> { Hecaton.download(url("/r/1"), "x") }].each do |bad|
        assert_match(/timeout is missing: give/, error_of(ArgumentError, &bad).message)
      end
    end
    assert_equal 0, sent
    assert_equal :total, error_of(Hecaton::TimeoutError) { Hecaton.get(url("/fault/stall-head"), timeout: 0.1) }.phase
  end

  def test_a_client_that_is_handed_over_brings_its_settings_and_its_timeout
    assert_nil Hecaton.client
    Hecaton.client = mine = client(base_url: real_server.url, headers: { "x-a" => "mine" })
    assert_same mine, Hecaton.client
    assert_equal "mine", Hecaton.get("/echo").json["headers"].to_h.transform_keys(&:downcase)["x-a"]
    assert_equal 1, mine.stats[:requests]
    assert_raises(Hecaton::TimeoutError) { Hecaton.get("/fault/stall-head", timeout: 0.1) }
    assert_match(/client is of class Hash: give/, error_of(ArgumentError) { Hecaton.client = {} }.message)
    assert_same mine, Hecaton.client
  end

  def connection = Hecaton.get(url("/echo"), timeout: 20).json["connection"]

  def test_connections_are_reused_and_threads_share_them
    connections = Array.new(4) { connection }
    assert_equal 1, connections.uniq.size
    assert_equal connections.first, Thread.new { connection }.value
  end

  def test_many_threads_at_once_make_one_client
    program = <<~RUBY
      require "hecaton"
      made = 0
      Hecaton::Client.singleton_class.prepend(Module.new { define_method(:new) { |**settings| made += 1; sleep 0.01; super(**settings) } })
      statuses = Array.new(20) { Thread.new { Hecaton.get(#{url("/r/1").inspect}, timeout: 20).status } }.map(&:value)
      print [statuses.uniq, made].inspect
    RUBY
    said, status = Open3.capture2e(RbConfig.ruby, "-I#{File.expand_path("../lib", __dir__)}", "-e", program)
    assert_equal ["[[200], 1]", true], [said, status.success?]
  end

  def test_a_child_of_fork_has_connections_of_its_own
    mine = connection
    reader, writer = IO.pipe
    pid = fork do
      reader.close
      writer.write(connection)
      writer.close
    ensure
      exit!(0)
    end
    writer.close
    childs = reader.read
    Process.wait(pid)
    refute_empty childs
    refute_equal mine.to_s, childs
    assert_equal mine, connection
  end
end
