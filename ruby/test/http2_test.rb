# HTTP/2 from Ruby: one connection for all, what it says of itself, and what a fork leaves alone.
require "test_helper"
require "tempfile"

class Http2Test < Minitest::Test
  # A test server of its own, and what it has seen in the end.
  def serving(*options)
    real_server = TestServer.new("--http2", *options)
    yield real_server.url
  ensure
    @summary = real_server.stop
  end

  def client(**options) = Hecaton::Client.new(timeout: 20, http: "2", **options)

  def test_a_batch_shares_one_connection
    serving do |url|
      statuses = []
      client.batch(concurrency: 50) do |batch|
        200.times { |id| batch.get("#{url}/r/#{id + 1}").on_complete { |outcome| statuses << outcome.response.status } }
      end
      assert_equal [200] * 200, statuses
    end
    assert_equal [200, 1, 1], @summary.values_at("requests", "connections", "http2_connections")
  end

  def test_threads_share_one_connection
    serving do |url|
      client = client()
      Array.new(8) { Thread.new { 20.times { assert_equal 200, client.get("#{url}/delay/1").status } } }.each(&:join)
    end
    assert_equal [160, 1], @summary.values_at("requests", "connections")
  end

  def test_a_response_names_its_version_of_http
    serving do |url|
      response = client.post("#{url}/echo", body: "abc")
      assert_equal "2", response.http_version
      assert_equal "2", response.attempts.first.version
      assert_equal "1.1", Hecaton::Client.new(timeout: 20).get("#{url}/echo").http_version
      assert_nil Hecaton::Response.new(status: 200).http_version
    end
  end

  def test_over_tls_the_server_chooses
    Tempfile.create("ca") do |file|
      serving("--tls", "--tls-ca-out", file.path) do |url|
        assert_equal "2", Hecaton::Client.new(timeout: 20, ca: file.path).get("#{url}/r/1").http_version
        assert_equal "1.1", Hecaton::Client.new(timeout: 20, ca: file.path, http: "1.1").get("#{url}/r/1").http_version
      end
    end
  end

  def test_a_body_is_read_in_pieces_and_another_request_runs_meanwhile
    serving do |url|
      client = client()
      size = 0
      client.get("#{url}/bytes/3000000") do |response|
        assert_equal "2", response.http_version
        response.each_chunk do |chunk|
          assert_equal 200, client.get("#{url}/r/1").status if size.zero?
          size += chunk.bytesize
        end
      end
      assert_equal 3_000_000, size
    end
    assert_equal 1, @summary["connections"]
  end

  def test_what_the_server_refused_is_resent_and_listed
    serving("--http2-refuse-first") do |url|
      attempts = client.post("#{url}/r/1", body: "abc").attempts
      assert_equal %i[resent status], attempts.map(&:ending)
      assert attempts.all?(&:sent?)
    end
  end

  def test_a_phase_has_its_limit_and_other_requests_continue
    serving do |url|
      client = client(first_byte_timeout: 0.2)
      error = assert_raises(Hecaton::TimeoutError) { client.get("#{url}/fault/stall-head") }
      assert_equal [:first_byte, true], [error.phase, error.sent?]
      assert_equal 200, client.with(first_byte_timeout: 20).get("#{url}/r/1").status
    end
    assert_equal 1, @summary["connections"]
  end

  def test_threads_killed_at_any_moment_leave_a_client_that_works
    serving("--http2-max-streams", "4") do |url|
      client = client(per_origin: 1)
      40.times do
        threads = Array.new(6) { Thread.new { client.get("#{url}/fault/stall-head") } }
        sleep 0.005
        threads.each(&:kill).each(&:join)
      end
      assert_equal 200, client.get("#{url}/r/1").status
      assert_equal 1, client.stats[:opened]
    end
  end

  def test_both_sides_of_a_fork_continue
    serving do |url|
      client = client()
      assert_equal 200, client.get("#{url}/r/1").status
      child = fork { exit!(client.get("#{url}/r/2").status == 200) }
      assert Process.wait2(child).last.success?
      response = client.get("#{url}/r/3")
      assert_equal [1, true], [response.attempts.size, response.attempts.first.reused?]
    end
    assert_equal 2, @summary["connections"]
  end

  def test_clients_that_are_gone_leave_no_connection_behind
    serving do |url|
      descriptors = -> { GC.start; Dir.children("/proc/self/fd").size }
      3.times { client.get("#{url}/r/1") }
      before = descriptors.call
      50.times { client.get("#{url}/r/1") }
      assert_operator descriptors.call, :<, before + 30
      closed = client
      closed.get("#{url}/r/1")
      open = descriptors.call
      closed.close
      assert_operator descriptors.call, :<, open
    end
  end

  def test_idle_connections_give_way_when_descriptors_run_out
    serving do |url|
      port = URI(url).port
      script = <<~RUBY
        require "hecaton"
        hosts = Array.new(60) { |number| "host-\#{number}.test:#{port}" }
        client = Hecaton::Client.new(timeout: 20, http: "2", resolve: hosts.to_h { |host| [host, "127.0.0.1"] })
        Process.setrlimit(:NOFILE, 40)
        hosts.each { |host| client.get("http://\#{host}/r/1") }
        print client.idle_connections
      RUBY
      lib = File.expand_path("../lib", __dir__)
      output = IO.popen([RbConfig.ruby, "-I#{lib}", "-e", script, err: %i[child out]], &:read)
      assert_includes 1..40, Integer(output, exception: false), output
    end
  end

  def test_requests_in_fibers_share_one_connection
    begin
      require "async"
    rescue LoadError
      skip "async is not installed"
    end
    serving do |url|
      client = client()
      statuses = []
      Async { |task| 10.times { task.async { statuses << client.get("#{url}/delay/100").status } } }
      assert_equal [200] * 10, statuses
    end
    assert_equal 1, @summary["connections"]
    assert_operator @summary["peak_in_flight"], :>, 1
  end

  def test_an_unknown_version_is_refused
    error = assert_raises(ArgumentError) { Hecaton::Client.new(timeout: 20, http: "4") }
    assert_includes error.message, "http"
  end
end
