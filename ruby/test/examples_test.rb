# Every example runs, ends well, and prints what it promises.
require "test_helper"
require "open3"

class ExamplesTest < ServerTest
  FOLDER = File.expand_path("../examples", __dir__)
  LIB = File.expand_path("../lib", __dir__)
  PROMISED = {
    "api_client" => /created: .*hammer.*\nthe report failed with 503 after 3 attempts/,
    "crawler" => /\A100 pages, \d{4,} bytes, 0 failed\n/,
    "download" => /\A5000000 bytes of .*\n36000000 bytes in 8 files\n/,
    "endless" => %r{\A(/r/\d+: 133 bytes\n){3}\d+ connections},
    "get_all" => %r{\A/r/1 .*200, 133 bytes\n/delay/50 .*200.*\n/status/404 .*404.*\n/fault/close .*\n/r/2 .*200},
    "rate_limited_sync" => /\A30 items in \d+\.\d s, 0 to be tried another time/
  }.freeze

  PROMISED.each do |name, output|
    define_method("test_the_example_#{name}_does_what_it_says") do
      command = [RbConfig.ruby, "-w", "-I#{LIB}", "#{FOLDER}/#{name}.rb", real_server.url]
      said, complaints, status = Open3.capture3(*command)
      assert_predicate status, :success?, complaints
      assert_empty complaints
      assert_match output, said
    end
  end

  def test_no_example_is_left_out
    assert_equal Dir.children(FOLDER).map { |file| File.basename(file, ".rb") }.sort, PROMISED.keys
  end
end
