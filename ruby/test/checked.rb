# Read by `rake sig` before the tests: sees to it that every call that sig/ describes is checked.
require "test_helper"
require "signatures"

# A call refused with an ArgumentError has had its check: the tests that make one mean to pass a wrong type.
module RefusedCalls
  def call(receiver, trace)
    call = trace.method_call
    super unless call.exception? && call.exception.is_a?(ArgumentError)
  end
end
RBS::Test::Tester::MethodCallTester.prepend(RefusedCalls)

# The checker looks at a class when its body ends, and these have no body in Ruby.
class Hecaton::Attempt; end
class Hecaton::Endpoint; end
class Hecaton::Redirect; end
class Hecaton::Cookie; end
class Hecaton::Download; end
class Hecaton::Link; end
class Hecaton::ServerSentEvent; end
class Hecaton::Event; end
class Hecaton::Timings; end
module Hecaton::Native; end
class Hecaton::Native::Client; end
class Hecaton::Native::Cookies; end
class Hecaton::Native::Batch; end
class Hecaton::Native::Guest; end
class Hecaton::Native::Stream; end
class Hecaton::Native::BodySource; end
class Hecaton::Native::Turns; end
class Hecaton::Native::Certificates; end
class Hecaton::Native::Wait; end
class Hecaton::Native::Driver; end

class CheckedTest < Minitest::Test
  def test_nothing_is_left_out
    unchecked = Signatures.modules.product(%i[instance singleton]).flat_map do |owner, kind|
      names = Signatures.written(kind, owner).keys
      names.reject { |name| Signatures.checked?(kind, owner, name) }.map { |name| "#{owner} #{name}" }
    end
    assert_empty unchecked
  end

  def test_a_wrong_type_is_noticed
    assert_raises(RBS::Test::Tester::TypeError) { Hecaton::Headers.new.get_all(1) }
    assert_raises(RBS::Test::Tester::TypeError) { Hecaton::Attempt.new(phase: :none) }
    assert_raises(RBS::Test::Tester::TypeError) { Hecaton::Response.new(status: 200, elapsed: nil).status }
  end
end
