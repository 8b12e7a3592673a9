# Helpers for Minitest and RSpec: what one test stubs, no other one sees; and what is not stubbed makes a test fail.
require "minitest/autorun"
require "open3"
require "tempfile"

class FrameworksTest < Minitest::Test
  LIBRARY = File.expand_path("../../../lib", __dir__)

  def run_program(text, *command)
    Tempfile.create(%w[frameworks_ .rb]) do |file|
      file.write(text)
      file.close
      return Open3.capture2e(*command, "-I#{LIBRARY}", file.path).first
    end
  end

  MINITEST = <<~RUBY.freeze
    require "minitest/autorun"
    require "hecaton/testing/minitest"
    CLIENT = Hecaton::Client.new(timeout: 5)

    class ProgramTest < Minitest::Test
      i_suck_and_my_tests_are_order_dependent!

      def test_1_stubbed
        Hecaton.stub(:get, "http://api.test/").returns("stubbed")
        assert_equal "stubbed", CLIENT.get("http://api.test/").body
      end

      def test_2_fails = CLIENT.get("http://api.test/")
      def test_3_fresh = assert_empty(Hecaton::Testing.requests + Hecaton::Testing.stubs)
      def teardown = CLIENT.get_all(["http://api.test/"])
    end
  RUBY

  def test_minitest
    said = run_program(MINITEST, RbConfig.ruby)
    assert_match(/3 runs, \d+ assertions, 0 failures, 1 errors/, said)
    assert_match(%r{test_2_fails:\nHecaton::Testing::UnmatchedRequest: no stub matches GET http://api.test/,}, said)
  end

  RSPEC = <<~RUBY.freeze
    require "hecaton/testing/rspec"
    CLIENT = Hecaton::Client.new(timeout: 5)

    RSpec.describe "a program" do
      after { CLIENT.get_all(["http://api.test/"]) }

      it "is stubbed" do
        stub = Hecaton.stub(:get, "http://api.test/").returns(status: 201)
        expect(CLIENT.get("http://api.test/").status).to eq(201)
        expect(stub.count).to eq(1)
      end

      it("fails") { CLIENT.get("http://api.test/") }
      it("is fresh") { expect(Hecaton::Testing.requests + Hecaton::Testing.stubs).to be_empty }
    end
  RUBY

  def test_rspec
    said = run_program(RSPEC, RbConfig.ruby, "-S", "rspec", "--no-color", "--order", "defined")
    assert_match(/^3 examples, 1 failure$/, said)
    assert_match(%r{Hecaton::Testing::UnmatchedRequest:\s+no stub matches GET http://api.test/,}, said)
  end

  # Both may be loaded: what WebMock does not stub, Hecaton's own stubs may, and the other way round.
  def test_beside_webmock
    orders = [%w[webmock/minitest hecaton/testing/minitest], %w[hecaton/testing/minitest webmock/minitest]]
    orders.each do |order|
      said = run_program(<<~RUBY, RbConfig.ruby)
        #{order.map { |name| "require #{name.inspect};" }.join}
        require "minitest/autorun"
        CLIENT = Hecaton::Client.new(timeout: 5)

        class ProgramTest < Minitest::Test
          def test_both
            stub_request(:get, "http://web.test/").to_return(status: 201)
            Hecaton.stub(:get, "http://own.test/").returns(202)
            assert_equal [201, 202], [CLIENT.get("http://web.test/").status, CLIENT.get("http://own.test/").status]
            assert_raises(Hecaton::Testing::UnmatchedRequest, WebMock::NetConnectNotAllowedError) { CLIENT.get("http://none.test/") }
          end
        end
      RUBY
      assert_match(/1 runs, 2 assertions, 0 failures, 0 errors/, said, order.inspect)
    end
  end
end
