# Every setting of the engine can be given from Ruby, under the name that docs/settings.md has from the engine.
require "minitest/autorun"
require "hecaton"

class SettingsTest < Minitest::Test
  PAGE = File.read(File.expand_path("../../docs/settings.md", __dir__))

  def test_every_setting_of_the_engine_is_a_keyword_of_client_new
    settings = section("Of a client") + section("Of what a client adds to its requests")
    assert_includes settings, :timeout
    assert_empty settings - keywords
  end

  def test_every_setting_of_retry_is_taken
    options = section("Of `retry`")
    assert_includes options, :max
    options.each { |option| Hecaton::Client.new(timeout: 1, retry: { option => nil }) }
  end

  private

  def section(title)
    PAGE[/^## #{Regexp.escape(title)}\n(.*?)(?=^## |\z)/m, 1].scan(/^### `(\w+)`$/).flatten.map(&:to_sym)
  end

  def keywords = Hecaton::Client.instance_method(:initialize).parameters.map(&:last)
end
