# The programs of the gem's README and of the pages that show parts of programs run, with what they take for granted.
require "test_helper"
require "open3"
require "scripted"

class ReadmeTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  LIB = File.expand_path("../lib", __dir__)
  USER = { "Content-Type" => "application/json", "Set-Cookie" => "a=1" }.freeze
  # The names that the parts use, and what they stand for.
  GIVEN = <<~'RUBY'.freeze
    require "hecaton"
    require "stringio"
    url, token, file = "http://127.0.0.1:8080/users/1", "token", StringIO.new
    other = Hecaton::Client.new(timeout: 10)
    urls, endless, batch = [url] * 3, [url].cycle, nil
    client = Hecaton::Client.new(timeout: 10)
  RUBY

  def served(&block)
    replies = %w[/users/1 /users/2 /users/3].to_h { |path| [path, Scripted.response(200, USER, '{"name":"Ada"}')] }
    Scripted.run(replies, &block)
  end

  def programs(page) = File.read("#{ROOT}/#{page}").scan(/^```ruby\n(.*?)^```/m).flatten

  def run_program(program, server, given = "")
    said, complaints, status = Open3.capture3(RbConfig.ruby, "-I#{LIB}", "-", stdin_data: (given + program).gsub("http://127.0.0.1:8080", server.url))
    assert_predicate status, :success?, "#{complaints}\n#{program}"
    [said, complaints]
  end

  # The comment after a line is the line's result.
  def test_the_first_program_of_the_readme
    served do |server|
      first = programs("ruby/README.md").first
      reported = first.gsub(/^(response\.(?:status|headers\["content-type"\]))( +# (.+))$/) { "p #{$1} == #{$3}" }
      said, complaints = run_program("#{reported}\nputs response.body.encoding, response.attempts.size, response.timings.first_byte_time.class\n", server)
      assert_equal ["true\ntrue\nUTF-8\n1\nFloat\n", ""], [said, complaints]
      assert_equal ["GET /users/1", "GET /users/2", "GET /users/3"], server.requested
    end
  end

  def test_the_parts_of_the_readme
    served do |server|
      parts = programs("ruby/README.md").drop(1).join("\n")
      pin = "sha256/#{["x" * 32].pack("m0")}"
      said, complaints = run_program(parts.gsub("| … }", "| nil }").sub("sha256/…", pin), server, GIVEN)
      assert_equal ["", ""], [said, complaints]
      requested = server.requested
      assert_includes requested, "POST /users/1"
      assert_operator requested.count("GET /users/1"), :>=, 1000
    end
  end

  def test_the_parts_of_other_pages
    rails = "Rails = Struct.new(:application).new(Struct.new(:config).new(Struct.new(:x).new(Struct.new(:users_api).new)))\n" \
            "require 'active_support/notifications'\nENV['USERS_TOKEN'] = 'token'\n"
    pages = { "docs/requests.md" => programs("docs/requests.md"), "docs/installing.md" => programs("docs/installing.md").grep_v(/^gem /) }
    pages.each do |page, parts|
      refute_empty parts, page
      served do |server|
        parts.each { |part| assert_equal ["", ""], run_program(part.gsub("https://host/report", server.url), server, GIVEN + (page.include?("installing") ? rails : "")), part }
      end
    end
  end
end

# The program on the repository's front page, against the test server that the page names.
class FrontPageTest < ServerTest
  PROGRAM = File.read(File.expand_path("../../README.md", __dir__)).scan(/^```ruby\n(.*?)^```/m).flatten.grep(/require/).join

  def test_the_program_of_the_front_page
    printed, complaints, status = Open3.capture3(RbConfig.ruby, "-w", "-I#{ReadmeTest::LIB}", "-", stdin_data: PROGRAM.gsub("http://127.0.0.1:8080", real_server.url))
    assert_predicate status, :success?, complaints
    assert_equal ["200\ntext/plain\n100\nconnect\nfalse\n", ""], [printed, complaints]
    assert_operator PROGRAM.lines.grep(/\S/).size, :<=, 12
  end

  def test_the_front_page_fits_a_short_visit
    assert_operator File.read(File.expand_path("../../README.md", __dir__)).split.size, :<=, 900
  end
end
