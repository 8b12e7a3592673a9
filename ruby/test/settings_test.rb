# The page of settings has every keyword of Client.new and every option of retry, and nothing else.
require "minitest/autorun"
require "hecaton"

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

  private

  def section(title)
    PAGE[/^## #{Regexp.escape(title)}\n(.*?)(?=^## |\z)/m, 1].scan(/^### `(\w+)`$/).flatten.map(&:to_sym)
  end

  def keywords = Hecaton::Client.instance_method(:initialize).parameters.map(&:last)
end
