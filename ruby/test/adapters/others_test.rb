# Both calls of each row of docs/from-others.md have the same result on the tutorial's server.
require "test_helper"
require "documents"

class OthersTest < Minitest::Test
  PAGE = "docs/from-others.md"
  # The gem of each library.
  LIBRARIES = { "http.rb" => "http", "httpx" => "httpx", "Excon" => "excon", "curb" => "curb",
                "rest-client" => "rest-client", "HTTParty" => "httparty" }.freeze
  # The rows of each library's table: [theirs, ours].
  TABLES = Documents.page(PAGE).split(/^## /).drop(2).to_h do |section|
    [section.lines.first.chomp, section.scan(/^\| `(.*?)` \| `(.*?)` \|$/)]
  end

  def test_every_library_has_a_table
    assert_equal LIBRARIES.keys, TABLES.keys
    TABLES.each { |library, rows| assert_operator rows.size, :>=, 8, library }
  end

  TABLES.each do |library, rows|
    define_method("test_calls_of_#{library.downcase.tr(".-", "_")}") do
      gem = LIBRARIES.fetch(library)
      skip "#{library} is not installed" if Gem::Specification.find_all_by_name(gem).empty?
      said, = Documents.run_program(program(gem, rows))
      rows.zip(said.split("\0", -1)) { |(theirs, ours), result| assert_equal "same", result, "#{theirs} and #{ours}" }
    end
  end

  def test_the_client_of_the_page
    assert_equal [["200\nGET\n", ""]], Documents.run_on_both(Documents.programs(PAGE).first)
  end

  private

  # Prints for each row whether its calls had the same result, or both results.
  def program(gem, rows)
    calls = rows.map { |theirs, ours| "[-> { #{theirs} }, -> { #{ours} }]" }
    <<~RUBY
      require "json"
      require #{gem.dump}
      #{Documents.programs(PAGE).first.sub(/^puts.*\n/, "")}
      [#{calls.join(",\n")}].each do |calls|
        theirs, ours = calls.map(&:call)
        print theirs == ours ? "same" : [theirs, ours].inspect, "\\0"
      end
    RUBY
  end
end
