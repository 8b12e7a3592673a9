# The owner of the name Typhoeus, and the file that a later require finds.
require "minitest/autorun"
require "open3"

class TyphoeusLoadingTest < Minitest::Test
  LIB = File.expand_path("../../../lib", __dir__)

  def ruby(code)
    output, status = Open3.capture2e(RbConfig.ruby, "-w", "-I#{LIB}", "-e", code)
    [output.lines(chomp: true).grep_v(/warning/), status.success?]
  end

  def test_it_does_not_come_by_itself
    assert_equal [["nil"], true], ruby("require 'hecaton'; p defined?(Typhoeus)")
  end

  def test_a_later_require_finds_it
    output = ruby("require 'hecaton/typhoeus'; p require('typhoeus'), " \
      "require('typhoeus/hydra'), Typhoeus.equal?(Hecaton::Typhoeus), " \
      "Typhoeus::Request.name, Typhoeus::VERSION, require('hecaton/typhoeus'), defined?(Ethon::Easy)")
    assert_equal [["false", "false", "true", '"Typhoeus::Request"', '"1.6.0"', "false", "nil"], true], output
  end

  def test_without_the_constant
    output = ruby("require 'hecaton/typhoeus/module'; p defined?(Typhoeus), Hecaton::Typhoeus::Request.name; " \
                  "require 'typhoeus'; p Typhoeus::Request == Hecaton::Typhoeus::Request")
    assert_equal [["nil", '"Hecaton::Typhoeus::Request"', "false"], true], output
  end

  def test_the_middleware_is_there_when_it_is_required
    known = "p defined?(Rack::Typhoeus::Middleware::ParamsDecoder::Helper)"
    assert_equal [["nil"], true], ruby("require 'hecaton/typhoeus'; p defined?(Rack)")
    %w[rack/typhoeus rack/typhoeus/middleware/params_decoder rack/typhoeus/middleware/params_decoder/helper]
      .each do |feature|
      ["require 'hecaton/typhoeus'; require '#{feature}'",
       "require 'hecaton/typhoeus'; require 'rack'; require '#{feature}'"].each do |order|
        assert_equal [['"constant"'], true],
          ruby("#{order}; #{known}".sub("p defined", "puts defined").sub(/$/, ".inspect")), feature
      end
    end
    assert_equal [['"constant"'], true],
      ruby("require 'rack'; require 'hecaton/typhoeus'; " \
        "puts defined?(Rack::Typhoeus::Middleware::ParamsDecoder).inspect")
  end

  def test_the_logger_of_ethon
    code = "require 'logger'; Ethon.logger.info('once'); " \
      "Ethon.logger = Logger.new(nil); Ethon.logger.info('not'); p Ethon.logger.level"
    output = ruby("require 'hecaton/typhoeus'; #{code}")
    assert_equal [true, 2], [output.last, output.first.size]
    assert_match(/once/, output.first.first)
    assert_equal ruby("require 'typhoeus'; #{code}").first.last, output.first.last
  end

  def test_the_constant_after_the_module
    assert_equal [["true"], true],
      ruby("require 'hecaton/typhoeus/module'; require 'hecaton/typhoeus'; p Typhoeus.equal?(Hecaton::Typhoeus)")
  end

  def test_the_original_is_not_replaced
    output, success = ruby("require 'typhoeus'; require 'hecaton/typhoeus'")
    refute success
    assert_match(/the constant Typhoeus is taken.*Gemfile/, output.join)
  end

  def test_a_real_ethon_may_come_before_or_after
    code = "begin; Typhoeus.get('http://x', nonsense: " \
      "1); rescue Ethon::Errors::InvalidOption => error; puts error.message; end"
    ["require 'ethon'; require 'hecaton/typhoeus'", "require 'hecaton/typhoeus'; require 'ethon'"].each do |order|
      lines, success = ruby("#{order}; #{code}; p Ethon::Easy.new.respond_to?(:perform)")
      # mime-types, which Ethon loads, warns so in a few runs.
      lines = lines.grep_v(/already registered as a variant/)
      assert_equal [["The option: nonsense is invalid.", "true"], true], [lines, success]
    end
  end
end
