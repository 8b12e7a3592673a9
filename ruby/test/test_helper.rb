# Starts the real test server for the tests, and stops it at the end.
require "minitest/autorun"
require "json"
require "net/http"
require "hecaton"
require "stuck"

# `hecaton serve` as a process of its own.
class TestServer
  BINARY = ENV.fetch("HECATON_BINARY") { File.expand_path("../../target/release/hecaton", __dir__) }

  # The command built with bulk jobs, which a release build may be without.
  WITH_FETCH = ENV.fetch("HECATON_WITH_FETCH", BINARY)

  attr_reader :url

  def self.shared = @shared ||= new.tap { |real_server| Minitest.after_run { real_server.stop } }

  def initialize(*arguments)
    @output = IO.popen([BINARY, "serve", "--listen", "127.0.0.1:0", *arguments], "r", err: :out)
    @url = @output.gets.chomp
    raise "the test server did not start: #{@url}#{@output.read}" unless @url.start_with?("http")
  end

  # The test server's log so far. The request for it uses one connection, which counts as one of its own.
  def ledger
    uri = URI(url)
    @log_connection ||= Net::HTTP.start(uri.host, uri.port)
    JSON.parse(@log_connection.get("/ledger").body)
  end

  # Requests that arrived, with or without a response.
  def arrived = ledger.values_at("requests", "aborted").sum

  def stop
    Process.kill(:TERM, @output.pid)
    JSON.parse(@output.read)
  ensure
    @output.close
  end
end

# Requests to the shared test server.
class ServerTest < Minitest::Test
  # Before any thread of a test: one that is killed while it starts the test server leaves that behind for good.
  def setup = real_server

  TESTING = Process.pid

  # A child that left its test by an exception must not run the tests that are left, while its parent waits for its end.
  def after_teardown
    super
    exit!(1) unless Process.pid == TESTING
  end

  def real_server = @own_server || TestServer.shared
  def url(path) = "#{real_server.url}#{path}"
  def client(**options) = Hecaton::Client.new(timeout: 20, **options)

  # For the length of the block, `url` and `real_server` mean a test server that no other test uses.
  # The shared one counts a request that another test gave up when it notices that:
  # it may do so in the middle of the next test.
  def with_own_server
    yield @own_server = TestServer.new
  ensure
    @own_server&.stop
    @own_server = nil
  end

  # A port where nobody listens, and that no other program gets: a socket of this test holds it.
  def closed_port
    held = Socket.new(:INET, :STREAM)
    held.bind(Addrinfo.tcp("127.0.0.1", 0))
    (@held_ports ||= []) << held
    held.local_address.ip_port
  end

  # How many requests the block sends.
  def requests_of = with_own_server { |server| yield.then { server.arrived } }

  # The error that the block raises, which must be of this class.
  def error_of(klass, &block) = assert_raises(klass, &block)

  # Descriptors of this process, those of forgotten objects closed.
  def descriptors
    GC.start
    Dir.children("/proc/self/fd").size
  end

  # Calls the block with this limit first, and with twice the limit each time that it came too late and returns nil.
  # A machine that stands still for a while lets any limit pass.
  def with_growing(limit)
    8.times do |doublings|
      said = yield limit * 2**doublings
      return said if said
    end
    flunk "it came too late each time"
  end

  def wait_until(seconds = 60)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    sleep 0.01 until yield || Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
  end
end
