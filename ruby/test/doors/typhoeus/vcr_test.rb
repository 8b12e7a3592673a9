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
  # Not those of DropInTest: VCR's callbacks are its hook, and stay.
  def teardown; end

  def test_what_is_recorded_is_replayed
    Dir.mktmpdir do |folder|
      VCR.configure do |config|
        config.cassette_library_dir = folder
        config.hook_into :typhoeus
      end
      first, second = Array.new(2) { VCR.use_cassette("all") { answers } }
      assert_equal first.map { |each| each[0..3] }, second.map { |each| each[0..3] }
      assert_equal [[nil] * 3, [true] * 3], [first, second].map { |answers| answers.map(&:last) }
      assert_raises(VCR::Errors::UnhandledHTTPRequestError) { Typhoeus.get(url("/r/9"), timeout: 5) }
    end
  end

  def answers
    found = [request("/echo", method: :post, body: { a: [1, 2] }).run, request("/status/404").run]
    hydra = Typhoeus::Hydra.new
    hydra.queue(request("/r/1") { |response| found << response })
    hydra.run
    found.map { |response| [response.code, response.body, response.headers["content-type"], response.status_message, response.mock] }
  end
end
