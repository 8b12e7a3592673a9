# The examples of docs/from-net-http.md: each prints the same before and after.
require "test_helper"
require "open3"

class NetHTTPDocumentationTest < ServerTest
  PAGE = File.expand_path("../../../../docs/from-net-http.md", __dir__)
  LIB = File.expand_path("../../../lib", __dir__)

  def test_each_before_and_after
    blocks = File.read(PAGE).scan(/^```ruby\n# (before|after)\n(.*?)^```$/m)
    assert_operator blocks.size, :>=, 10
    blocks.each_slice(2) do |(first, before), (second, after)|
      assert_equal %w[before after], [first, second]
      printed = printed_by(before)
      refute_empty printed
      assert_equal printed, printed_by(after), after
    end
  end

  private

  def printed_by(program)
    program = program
      .gsub("127.0.0.1:8080", "127.0.0.1:#{URI(real_server.url).port}").gsub("8080", URI(real_server.url).port.to_s)
    output, said, status = Open3.capture3(RbConfig.ruby, "-I#{LIB}", "-e", program)
    assert status.success?, said
    output
  end
end
