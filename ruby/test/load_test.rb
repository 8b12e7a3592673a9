# Each file of the gem's core can be loaded first, so the order in which hecaton.rb names them means nothing.
require "test_helper"
require "open3"

class LoadTest < Minitest::Test
  LIB = File.expand_path("../lib", __dir__)
  # Loads each file that the gem loads, in a process that has loaded nothing before.
  PROGRAM = <<~RUBY
    reader, writer = IO.pipe
    fork { require "hecaton"; require "hecaton/interception/run"; writer.puts $LOADED_FEATURES.grep(%r{/lib/hecaton/.*rb}) }
    writer.close
    files = reader.readlines(chomp: true)
    ended = files.map { |file| Process.wait2(fork { require file }).last }
    puts files.size, ended.count(&:success?)
  RUBY

  def test_each_file_can_be_loaded_alone
    output, errors, = Open3.capture3(RbConfig.ruby, "-W", "-I#{LIB}", "-e", PROGRAM)
    assert_empty errors
    loaded, alone = output.split.map(&:to_i)
    assert_operator loaded, :>, 50
    assert_equal loaded, alone
  end
end
