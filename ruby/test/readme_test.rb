# The programs of the gem's README, of the front page and of the pages that show parts of programs run.
require "test_helper"
require "documents"
require "scripted"

class ReadmeTest < Minitest::Test
  # The names that parts of programs use, and what they stand for.
  GIVEN = <<~'RUBY'.freeze
    require "hecaton"
    url, token = "http://127.0.0.1:8080/r/1", "token"
    client = Hecaton::Client.new(timeout: 10)
  RUBY

  # The comment after a line is the line's result.
  def test_the_first_program_of_the_readme
    reported = Documents.programs("ruby/README.md").first
      .gsub(/^(response\.(?:status|headers\["content-type"\]))( +# (.+))$/) {
      "p #{$1} == #{$3}"
    }
    program = "#{reported}\nputs response.attempts.size, response.timings.first_byte_time.class\n"
    assert_equal [["true\ntrue\n1\nFloat\n", ""]], Documents.run_on_both(program)
  end

  def test_the_other_programs_of_the_readme
    programs = Documents.programs("ruby/README.md").drop(1).grep_v(/^gem /)
    assert_equal 1, programs.size
    assert_equal [["200\n", ""]], Documents.run_on_both(programs.first)
  end

  def test_the_parts_of_other_pages
    rails = "Rails " \
      "= Struct.new(:application).new(Struct.new(:config).new(Struct.new(:x).new(Struct.new(:users_api).new)))\n" \
      "require 'active_support/notifications'\nENV['USERS_TOKEN'] = 'token'\n"
    pages = { "docs/requests.md" => "", "docs/installing.md" => rails }
    pages.each do |page, given|
      parts = Documents.programs(page).grep_v(/^gem /)
      refute_empty parts, page
      user = Scripted.response(200, { "Content-Type" => "application/json" }, '{"name":"Ada"}')
      Scripted.run("/users/1" => user, "/r/1" => user) do |server|
        parts.each { |part|
          assert_equal ["", ""],
            Documents.run_program(GIVEN + given + part.gsub("https://host/report", server.url), server.url), part
        }
      end
    end
  end
end

# The program on the repository's front page, on the servers that the page names.
class FrontPageTest < Minitest::Test
  PROGRAM = Documents.programs("README.md").grep(/require/).join

  def test_the_program_of_the_front_page
    assert_equal [["200\ntext/plain\n100\nconnect\nfalse\n", ""]], Documents.run_on_both(PROGRAM)
    assert_operator PROGRAM.lines.grep(/\S/).size, :<=, 12
  end

  def test_the_front_page_of_the_site_has_the_same_program
    assert_equal Documents.programs("README.md"), Documents.programs("docs/index.md")
  end

  def test_the_front_page_fits_a_short_visit
    assert_operator Documents.page("README.md").split.size, :<=, 900
  end
end
