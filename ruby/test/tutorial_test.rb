# Every program of docs/tutorial.md runs as it stands there, and prints what stands below it.
require "test_helper"
require "open3"

class TutorialTest < ServerTest
  PAGE = File.read(File.expand_path("../../docs/tutorial.md", __dir__))
  LIB = File.expand_path("../lib", __dir__)
  # Each title with its programs: [title, number, program, output].
  PROGRAMS = PAGE.split(/^## /).drop(1).flat_map do |section|
    section.scan(/^```ruby\n(.*?)^```\n\n```text\n(.*?)^```/m).each_with_index.map { |program, number|
      [section.lines.first.chomp, number, *program]
    }
  end

  def test_no_program_is_left_out
    assert_equal PAGE.scan(/^```ruby$/).size, PROGRAMS.size
    assert_operator PROGRAMS.size, :>=, 8
  end

  PROGRAMS.each do |title, number, program, output|
    define_method("test_#{title.downcase.gsub(/\W+/, "_")}_#{number}") do
      printed, complaints, status = Open3.capture3(RbConfig.ruby, "-w", "-I#{LIB}", "-",
        stdin_data: program.gsub("http://127.0.0.1:8080", real_server.url))
      assert_predicate status, :success?, complaints
      assert_equal [output, ""], [printed, complaints]
    end
  end
end
