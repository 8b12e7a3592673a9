# The programs in the documents run on the tutorial's server, and what stands before and after a change prints the same.
require "test_helper"
require "documents"

class FaradayDocumentsTest < Minitest::Test
  def outputs(page) = Documents.programs(page).map { |program| Documents.run_on_both(program).map(&:first) }

  def test_from_faraday
    before, after, *others = outputs("docs/from-faraday.md")
    assert_equal before, after
    assert_equal ["133\nname=Grace\n"], after
    assert_equal [["200\n"], ["1\ntotal\ntrue\n"], ["200\n"], ["100\n"], ["200\n200\n"]], others
  end

  def test_calls_of_the_client_have_the_same_results
    page = "docs/from-faraday.md"
    rows = Documents.page(page).scan(/^\| `((?:conn|JSON)\b.*?)` \| `(client\..*?)` \|$/)
    assert_operator rows.size, :>=, 10
    calls = rows.flatten.map { |call| "p((#{call}))" }
    said, = Documents.run_program([Documents.programs(page).last, *calls].join("\n"))
    results = said.lines.drop(2).each_slice(2).to_a
    assert_equal rows.size, results.size
    results.zip(rows) { |(theirs, ours), row| assert_equal theirs, ours, row.join(" and ") }
  end

  def test_call_and_sunset
    log = "user_agent=pokedex; app_name=pokedex;\nSat, 31 Dec 2089 00:00:00 GMT\n"
    assert_equal [["200\n1\n"], [log]], outputs("docs/call-and-sunset.md")
  end
end
