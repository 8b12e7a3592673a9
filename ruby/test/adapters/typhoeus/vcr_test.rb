# VCR records and replays the drop-in by its own hook for Typhoeus.
require_relative "drop_in"
require "tmpdir"
begin
  require "vcr"
rescue LoadError
  warn "skipped: there is no vcr for this Ruby"
  exit
end

class TyphoeusVcrTest < DropInTest
  # VCR switches WebMock's adapter for Typhoeus off, where there is one, and records by its own hook.
  def test_webmock_may_be_there_too
    program = <<~'RUBY'
      require "hecaton/typhoeus"
      require "webmock"
      require "vcr"
      WebMock.enable!
      VCR.configure { |config| config.cassette_library_dir = ARGV[1]; config.hook_into :typhoeus }
      2.times do
        VCR.use_cassette("one") { response = Typhoeus.get(ARGV[0]); print response.code, response.mock.inspect, " " }
      end
    RUBY
    Dir.mktmpdir do |folder|
      command = [RbConfig.ruby, "-I#{File.expand_path("../../../lib", __dir__)}", "-e", program, url("/r/1"), folder]
      said = IO.popen([*command, err: %i[child out]], &:read)
      assert_equal "200nil 200true ", said.lines.last
    end
  end

  # Not those of DropInTest: VCR's callbacks are its hook, and stay.
  def teardown; end

  def test_what_is_recorded_is_replayed
    Dir.mktmpdir do |folder|
      VCR.configure do |config|
        config.cassette_library_dir = folder
        config.hook_into :typhoeus
      end
      first, second = Array.new(2) { VCR.use_cassette("all") { replies } }
      assert_equal first.map { |each| each[0..3] }, second.map { |each| each[0..3] }
      assert_equal [[nil] * 3, [true] * 3], [first, second].map { |replies| replies.map(&:last) }
      assert_raises(VCR::Errors::UnhandledHTTPRequestError) { Typhoeus.get(url("/r/9"), timeout: 5) }
    end
  end

  def replies
    found = [request("/echo", method: :post, body: { a: [1, 2] }).run, request("/status/404").run]
    hydra = Typhoeus::Hydra.new
    hydra.queue(request("/r/1") { |response| found << response })
    hydra.run
    found.map do |response|
      [response.code, response.body, response.headers["content-type"], response.status_message, response.mock]
    end
  end
end
