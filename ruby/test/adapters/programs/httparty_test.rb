# A program of httparty prints the same over Hecaton, with one line changed.
require_relative "net_http_family"

class HTTPartyProgramTest < Minitest::Test
  include NetHTTPFamily

  def test_one_line
    assert_same_output("httparty", 'require "httparty"',
      'require "httparty"; require "hecaton/net_http"; Hecaton::NetHTTP.replace!')
  end
end
