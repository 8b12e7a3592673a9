# The page of settings has every keyword of Client.new and every option of retry, and nothing else.
require "minitest/autorun"
require "hecaton"
require "logger"

class SettingsTest < Minitest::Test
  PAGE = File.read(File.expand_path("../../docs/settings.md", __dir__))

  def test_the_page_has_every_keyword_of_client_new
    assert_equal keywords.sort, section("Settings of a client").sort
  end

  def test_the_page_has_every_option_of_a_request
    page = PAGE[/^## Options of a request\n(.*?)(?=^## )/m, 1].scan(/^- `(\w+)` /).flatten.map(&:to_sym)
    assert_equal Hecaton::Settings::OF_REQUESTS, page
    assert_equal Hecaton::Settings::OF_REQUESTS.sort, Hecaton::RequestBuilder::NEEDS.keys.sort
  end

  def test_every_setting_of_retry_is_taken
    options = section("Keys of `retry`")
    assert_includes options, :max
    options.each { |option| Hecaton::Client.new(timeout: 1, retry: { option => nil }) }
  end

  def test_every_setting_is_a_keyword
    keywords = Hecaton::Client.instance_method(:initialize).parameters
    assert_equal Hecaton::Settings::NAMES, keywords.map(&:last)
    assert_equal [%i[keyreq timeout]], keywords.reject { |kind, _| kind == :key }
  end

  # [name, type, what 0 means] of each row of the table.
  ROWS = PAGE.scan(/^\| \[`(\w+)`\]\(#\1\) \| (.*?) \| .*? \| (.*?) \| \w+ \|$/)
  # A value of each kind, and how a type names it. Numbers have a test of their own.
  KINDS = { "seconds" => 1.5, "whole number" => 1, "true or false" => true, "Hash" => {}, "Array" => [] }.freeze
  # Where the kind alone does not make a value.
  VALID = { "resolve" => { "host:80" => ["127.0.0.1"] }, "allow_address" => :public, "local_address" => "127.0.0.1",
            "http" => "1.1", "tls_min" => "1.3", "proxy" => "http://127.0.0.1:1", "base_url" => "http://host/",
            "basic_auth" => %w[user password], "digest_auth" => %w[user password], "cookies" => true,
            "logger" => Logger.new(IO::NULL), "on_deprecation" => -> {} }.freeze
  # Settings whose valid values are files and keys, which other tests give.
  FILES = %w[ca crl client_cert client_key client_key_password pins].freeze

  def test_every_row_accepts_its_type_and_nil
    ROWS.each do |name, type, _|
      value = VALID.fetch(name) { KINDS.find { |kind, _| type.start_with?(kind) }&.last || "x" }
      assert_nil refusal(name, value), name unless FILES.include?(name)
      assert_equal name == "timeout", !refusal(name, nil).nil?, name
    end
    assert_equal keywords.map(&:to_s).sort, ROWS.map(&:first).sort
  end

  def test_every_row_refuses_what_its_type_does_not_name
    strangers = { "Object" => Object.new, "Symbol" => :word, "Hash" => { 1 => 2 }, "Array" => [Object.new],
                  "true" => true }
    ROWS.each do |name, type, _|
      strangers.each do |kind, value|
        refute_nil refusal(name, value), "#{name}: #{kind}" unless type.include?(kind) || type.include?("them")
      end
    end
  end

  # What 0 means, as the table says: refused, or something; empty where 0 is no value.
  def test_every_row_says_what_zero_does
    ROWS.each do |name, type, zero|
      number = type.match?(/seconds|whole number/)
      assert_equal number, !zero.empty?, name
      assert_equal !number || zero == "refused", !refusal(name, 0).nil?, name
    end
  end

  private

  # Why Client.new refuses the value; nil if it does not.
  def refusal(name, value)
    Hecaton::Client.new(**{ timeout: 5 }.merge(name.to_sym => value)) && nil
  rescue ArgumentError => error
    error.message
  end

  def section(title)
    PAGE[/^## #{Regexp.escape(title)}\n(.*?)(?=^## |\z)/m, 1].scan(/^### `(\w+)`$/).flatten.map(&:to_sym)
  end

  def keywords = Hecaton::Client.instance_method(:initialize).parameters.map(&:last)
end
