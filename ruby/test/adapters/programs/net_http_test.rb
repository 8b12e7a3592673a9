# A program of net-http prints the same over Hecaton, with one line changed.
require_relative "net_http_family"

class NetHttpProgramTest < Minitest::Test
  include NetHTTPFamily

  def test_one_line
    assert_same_output("net_http", 'require "net/http"', 'require "hecaton/net_http"; Hecaton::NetHTTP.replace!')
  end
end
