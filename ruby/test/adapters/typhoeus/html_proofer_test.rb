# html-proofer, a program that is built on Typhoeus, finds the same with the drop-in.
require "test_helper"
require "open3"
require "tmpdir"

class TyphoeusHtmlProoferTest < ServerTest
  LIB = File.expand_path("../../../lib", __dir__)

  PROGRAM = <<~'RUBY'
    $VERBOSE = nil # It warns of itself.
    begin
      require "html-proofer"
    rescue LoadError
      abort "there is none"
    end
    begin
      HTMLProofer.check_directory(ARGV[0], log_level: :error, check_external_hash: true, typhoeus: { timeout: 20 }).run
    rescue SystemExit, RuntimeError => error
      puts error.message
    end
  RUBY

  def proof(folder, *library)
    output, status = Open3.capture2e(RbConfig.ruby, *library, "-e", PROGRAM, folder)
    skip "there is no html-proofer for this Ruby" if output.include?("there is none")
    assert status.success?, output
    output
  end

  def test_it_finds_the_same
    Dir.mktmpdir do |folder|
      links = %w[/r/1 /status/404 /status/500 /redirect/302/1 /r/2#nowhere].map { |path|
        "<a href='#{url(path)}'>x</a>"
      }
      File.write("#{folder}/index.html", "<html><body>#{links.join}<a href='http://127.0.0.1:1/'>x</a></body></html>")
      found = proof(folder, "-rtyphoeus")
      assert_match(/found 4 failures/, found)
      assert_equal found.lines.sort, proof(folder, "-I#{LIB}", "-rhecaton/typhoeus").lines.sort
    end
  end
end
