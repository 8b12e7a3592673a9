# Requiring the gem alone loads no adapter and no drop-in, and none of their libraries.
require "test_helper"

class LoadedTest < Minitest::Test
  OTHERS = %i[Typhoeus Faraday WebMock VCR].freeze

  def test_the_gem_alone_brings_nothing_of_others
    assert_empty OTHERS.select { |name| Object.const_defined?(name) }
    assert_empty $LOADED_FEATURES.grep(%r{/lib/hecaton/(adapters|testing)/})
  end
end
