# A program of net-http-persistent prints the same over Hecaton, with one line changed.
require_relative "net_http_family"

class NetHttpPersistentProgramTest < Minitest::Test
  include NetHTTPFamily

  def test_one_line
    assert_same_output("net_http_persistent", 'require "net/http/persistent"',
      'require "hecaton/net_http"; Hecaton::Persistent.replace!')
  end
end
