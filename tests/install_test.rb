# release/install.sh, as a reader runs it: from a web server on loopback, with a release whose program is a script.
require "digest"
require "fileutils"
require "minitest/autorun"
require "open3"
require "socket"
require "tmpdir"

class InstallTest < Minitest::Test
  SCRIPT = File.expand_path("../release/install.sh", __dir__)
  CPU = `uname -m`.strip
  NAME = "hecaton-0.1.0-#{CPU}-linux-gnu".freeze

  def setup
    @folder = Dir.mktmpdir
    @release = File.join(@folder, "release")
    @prefix = File.join(@folder, "prefix")
    make_release
    @server = TCPServer.new("127.0.0.1", 0)
    @serving = Thread.new { loop { serve(@server.accept) } }
  end

  def teardown
    @serving.kill
    @server.close
    FileUtils.rm_rf(@folder)
  end

  def test_it_installs_what_has_the_sum_of_the_list
    said, status = install
    assert status.success?, said
    assert_includes said, "installed: hecaton 0.1.0"
    assert File.executable?("#{@prefix}/bin/hecaton")
    assert_equal "manual", File.read("#{@prefix}/share/man/man1/hecaton.1.gz")
  end

  def test_another_version_takes_its_place
    install
    make_release("hecaton 0.2.0")
    said, status = install
    assert status.success?, said
    assert_includes `#{@prefix}/bin/hecaton --version`, "0.2.0"
  end

  def test_a_damaged_file_is_not_installed
    File.open("#{@release}/#{NAME}.tar.gz", "ab") { |file| file << "x" }
    assert_refused "has not the sum"
  end

  def test_a_list_from_elsewhere_decides
    own = File.join(@folder, "sums")
    File.write(own, "#{"0" * 64}  #{NAME}.tar.gz\n")
    assert_refused "has not the sum", "--sums", own
  end

  def test_a_release_without_this_processor
    File.write("#{@release}/SHA256SUMS", "#{"0" * 64}  hecaton-0.1.0-pdp11-linux-gnu.tar.gz\n")
    assert_refused "no build for #{CPU}"
  end

  # A list may come from anywhere: its names lead nowhere but into the folder of the download.
  def test_a_name_that_leads_elsewhere_is_none
    File.write("#{@release}/SHA256SUMS",
      "#{"0" * 64}  ../hecaton-0.1.0-#{CPU}-linux-gnu.tar.gz\n#{"0" * 64}  hecaton-/../../x-#{CPU}-linux-gnu.tar.gz\n")
    assert_refused "no build for #{CPU}"
  end

  def test_a_folder_that_is_no_release
    FileUtils.rm("#{@release}/SHA256SUMS")
    assert_refused "is it the folder of a release?"
  end

  def test_a_program_that_does_not_run_is_not_installed
    make_release("", "#!/nowhere/sh\n")
    assert_refused "does not run on this system"
  end

  def test_without_a_url_it_says_how_it_is_called
    said, status = Open3.capture2e("sh", SCRIPT)
    assert_equal 2, status.exitstatus
    assert_includes said, "sh install.sh https://HOST/PATH"
  end

  private

  def install(*options)
    Open3.capture2e("sh", SCRIPT, "http://127.0.0.1:#{@server.addr[1]}", "--prefix", @prefix, *options)
  end

  def assert_refused(why, *options)
    said, status = install(*options)
    assert_equal 1, status.exitstatus, said
    assert_includes said, why
    refute File.exist?(@prefix), "something was installed"
  end

  def make_release(version = "hecaton 0.1.0", first_line = "#!/bin/sh\n")
    content = File.join(@folder, NAME)
    FileUtils.mkdir_p(["#{content}/bin", "#{content}/share/man/man1", @release])
    File.write("#{content}/bin/hecaton", "#{first_line}echo #{version}\n")
    File.chmod(0o755, "#{content}/bin/hecaton")
    File.write("#{content}/share/man/man1/hecaton.1.gz", "manual")
    system("tar", "-czf", "#{@release}/#{NAME}.tar.gz", "-C", @folder, NAME, exception: true)
    File.write("#{@release}/SHA256SUMS",
      "#{Digest::SHA256.file("#{@release}/#{NAME}.tar.gz").hexdigest}  #{NAME}.tar.gz\n")
  end

  def serve(connection)
    name = connection.gets.to_s.split[1].to_s.delete_prefix("/")
    nil until connection.gets.to_s.strip.empty?
    body = File.binread(File.join(@release, name)) if File.file?(File.join(@release, name))
    connection << "HTTP/1.1 #{body ? "200 OK" : "404 Not Found"}\r\n" \
      "Content-Length: #{body.to_s.bytesize}\r\nConnection: close\r\n\r\n#{body}"
  ensure
    connection.close
  end
end
