# WebMock and Hecaton may be required in any order, by minitest and by RSpec: stubs work, and what is not stubbed is
# refused.
require "minitest/autorun"
require "open3"
require "tempfile"

class OrderTest < Minitest::Test
  LIBRARY = File.expand_path("../../../lib", __dir__)

  # Runs a program in a process of its own. Returns what it printed, its errors if that is nothing, and whether it
  # succeeded. Libraries that WebMock loads warn now and then.
  def run_program(text, *command)
    Tempfile.create(%w[order_ .rb]) do |file|
      file.write(text)
      file.close
      said, errors, status = Open3.capture3(*command, "-I#{LIBRARY}", file.path)
      return [said.empty? ? errors : said, status.success?]
    end
  end

  def ruby(text) = run_program(text, RbConfig.ruby)
  def rspec(text) = run_program(text, RbConfig.ruby, "-S", "rspec", "--no-color", "--order", "defined")

  ORDERS = [%w[hecaton webmock/KIND], %w[webmock/KIND hecaton]].freeze

  def requires(kind, order) = order.map { |name| "require #{name.sub("KIND", kind).inspect}\n" }.join

  MINITEST = <<~RUBY.freeze
    CLIENT = Hecaton::Client.new(timeout: 20)

    class ProgramTest < Minitest::Test
      i_suck_and_my_tests_are_order_dependent!

      def test_1_stubbed
        stub_request(:get, "http://site.test/").to_return(body: "stubbed")
        assert_equal "stubbed", CLIENT.get("http://site.test/").body
        CLIENT.batch { |batch| batch.get("http://site.test/").on_complete { |outcome| @body = outcome.body } }
        assert_equal "stubbed", @body
        assert_requested :get, "http://site.test/", times: 2
      end

      def test_2_not_stubbed_any_more
        assert_raises(WebMock::NetConnectNotAllowedError) { CLIENT.get("http://site.test/") }
        assert_requested :get, "http://site.test/", times: 1
      end

      def test_3_fails
        assert_requested :get, "http://site.test/never"
      end
    end
  RUBY

  def test_minitest
    ORDERS.each do |order|
      said, succeeded = ruby("require \"minitest/autorun\"\n#{requires("minitest", order)}#{MINITEST}")
      refute succeeded, said
      assert_match(/3 runs, \d+ assertions, 1 failures, 0 errors/, said, order.inspect)
      assert_match(%r{The request GET http://site.test/never was expected to execute 1 time but it executed 0 times},
        said)
    end
  end

  RSPEC = <<~RUBY.freeze
    CLIENT = Hecaton::Client.new(timeout: 20)

    RSpec.describe "a program" do
      it "is stubbed" do
        stub_request(:get, "http://site.test/").to_return(body: "stubbed")
        expect(CLIENT.get("http://site.test/").body).to eq("stubbed")
        expect(CLIENT.get_all(["http://site.test/"]).map(&:body)).to eq(["stubbed"])
        expect(a_request(:get, "http://site.test/")).to have_been_made.twice
      end

      it "is not stubbed any more" do
        expect { CLIENT.get("http://site.test/") }.to raise_error(WebMock::NetConnectNotAllowedError)
        expect(WebMock).to have_requested(:get, "http://site.test/").once
      end

      it "fails" do
        expect(a_request(:get, "http://site.test/never")).to have_been_made
      end
    end
  RUBY

  def test_rspec
    ORDERS.each do |order|
      said, succeeded = rspec(requires("rspec", order) + RSPEC)
      refute succeeded, said
      assert_match(/^3 examples, 1 failure$/, said, order.inspect)
      assert_match(%r{The request GET http://site.test/never was expected to execute 1 time but it executed 0 times},
        said)
    end
  end

  # WebMock alone is not enabled, and then it stubs nobody.
  def test_webmock_that_is_not_enabled
    program = <<~RUBY
      client = Hecaton::Client.new(timeout: 20)
      request_once = -> { client.get("http://127.0.0.1:9/") rescue $!.class }
      WebMock.stub_request(:get, "http://127.0.0.1:9/").to_return(status: 299)
      print request_once.call, " "
      WebMock.enable!
      print request_once.call.status, " "
      WebMock.disable!
      print request_once.call, " ", Hecaton::Interception.active?
    RUBY
    [%w[hecaton webmock], %w[hecaton/webmock]].each do |order|
      said, = ruby(requires("", order) + program)
      assert_equal "Hecaton::ConnectError 299 Hecaton::ConnectError false", said, order.inspect
    end
  end

  def test_another_webmock_is_left_alone
    said, = ruby(%(require "hecaton"\nmodule WebMock; end\n) +
      "print Hecaton::Interception.active?, defined?(Hecaton::WebMock).inspect")
    assert_equal "falsenil", said
  end
end
