# Every program of docs/tutorial.md runs as it stands there, on the page's own server and on the lab's, and prints what
# stands below it.
require "test_helper"
require "documents"

class TutorialTest < Minitest::Test
  PAGE = Documents.page("docs/tutorial.md")
  # Each title with its programs: [title, number, program, output].
  PROGRAMS = PAGE.split(/^## /).drop(1).flat_map do |section|
    section.scan(/^```ruby\n(.*?)^```\n\n```text\n(.*?)^```/m).each_with_index.map { |program, number|
      [section.lines.first.chomp, number, *program]
    }
  end

  # All programs but the server have an output.
  def test_no_program_is_left_out
    assert_equal PAGE.scan(/^```ruby$/).size, PROGRAMS.size + 1
    assert_operator PROGRAMS.size, :>=, 8
  end

  PROGRAMS.each do |title, number, program, output|
    define_method("test_#{title.downcase.gsub(/\W+/, "_")}_#{number}") do
      assert_equal [[output, ""]], Documents.run_on_both(program)
    end
  end

  # Documents say that it is a dozen lines or so, and people read it before they run it.
  def test_the_server_is_short
    assert_operator Documents::TutorialServer::PROGRAM.lines.size, :<=, 25
  end
end
