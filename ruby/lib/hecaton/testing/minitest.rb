# Hecaton::Testing for Minitest: stubs are forgotten after each test.
require "minitest"
require_relative "stubs"

module Hecaton::Testing
  # In every test.
  module Minitest
    # After what the test itself does at its end.
    def after_teardown
      super
    ensure
      Hecaton::Testing.reset
    end
  end
end

Minitest::Test.prepend(Hecaton::Testing::Minitest)
