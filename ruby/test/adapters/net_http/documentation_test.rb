# The examples of docs/from-net-http.md: each prints the same before and after, on the tutorial's server and the lab's.
require "documents"

class NetHTTPDocumentationTest < ServerTest
  def test_each_before_and_after
    blocks = Documents.page("docs/from-net-http.md").scan(/^```ruby\n# (before|after)\n(.*?)^```$/m)
    assert_operator blocks.size, :>=, 10
    blocks.each_slice(2) do |(first, before), (second, after)|
      assert_equal %w[before after], [first, second]
      [Documents::TutorialServer.shared, real_server].each do |server|
        port = URI(server.url).port
        printed = printed_by(before, port)
        refute_empty printed
        assert_equal printed, printed_by(after, port), after
      end
    end
  end

  private

  def printed_by(program, port)
    output, said, status = Open3.capture3(RbConfig.ruby, "-I#{Documents::LIB}", "-e", program.gsub("8080", port.to_s))
    assert status.success?, said
    output
  end
end
