# The programs in the documents run on the tutorial's server, and what stands before and after a change prints the same.
require "test_helper"
require "documents"

class FaradayDocumentsTest < Minitest::Test
  def outputs(page) = Documents.programs(page).map { |program| Documents.run_on_both(program).map(&:first) }

  def test_from_faraday
    before, after, *others = outputs("docs/from-faraday.md")
    assert_equal before, after
    assert_equal ["133\nname=Grace\n"], after
    assert_equal [["200\n"], ["1\ntotal\ntrue\n"], ["200\n"], ["100\n"]], others
  end

  def test_call_and_sunset
    log = "user_agent=pokedex; app_name=pokedex;\nSat, 31 Dec 2089 00:00:00 GMT\n"
    assert_equal [["200\n1\n"], [log]], outputs("docs/call-and-sunset.md")
  end
end
