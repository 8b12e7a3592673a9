# A program of rest-client prints the same over Hecaton, with one line changed.
require_relative "net_http_family"

class RestClientProgramTest < Minitest::Test
  include NetHTTPFamily

  def test_one_line
    assert_same_output("rest_client", 'require "rest-client"',
      'require "rest-client"; require "hecaton/net_http"; Hecaton::NetHTTP.replace!')
  end
end
