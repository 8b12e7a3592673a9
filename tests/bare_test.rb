# README names what its two commands need, and tests/bare makes a machine with nothing else. Help needs nothing.
require "fileutils"
require "minitest/autorun"
require "tmpdir"

class BareTest < Minitest::Test
  ROOT = File.expand_path("..", __dir__)

  def test_the_bare_machine_has_what_readme_asks_for
    asked = File.read("#{ROOT}/README.md")[/^On Debian 12 with (.+):$/, 1]
    packages = File.read("#{ROOT}/tests/bare")[/^asked_for=\((.+)\)$/, 1].split - ["ca-certificates"] # git's own need
    assert_match(/\A#{packages.join(", ")} and Rust 1\.\d+ or newer\z/, asked)
  end

  def test_who_may_not_install_is_told_what_root_should_run
    Dir.mktmpdir do |path|
      %w[apt-get cargo].each { |name| tool(path, name, "exit 0") }
      tool(path, "rustc", "echo rustc 1.99.0")
      tool(path, "id", "echo 1000")
      %w[bash env sed find dirname readlink mkdir touch flock cat paste tr grep].each do |name|
        File.symlink(`which #{name}`.chomp, "#{path}/#{name}")
      end
      said = IO.popen({ "PATH" => path }, ["bash", checkout(path), "run"], err: %i[child out], &:read)
      refute_predicate $?, :success?
      assert_match(/apt-get install --no-install-recommends .*\bruby\b.*\bruby-typhoeus\b/, said)
    end
  end

  def test_help_installs_and_builds_nothing
    Dir.mktmpdir do |path|
      folder = File.expand_path("..", File.dirname(checkout(path)))
      FileUtils.cp("#{ROOT}/bin/hecaton", "#{folder}/bin")
      assert_match(/not built yet; `bin\/setup jobs` builds it/, said(folder, "audit", "--help"))
      refute_predicate $?, :success?
      refute_path_exists "#{folder}/target"

      FileUtils.mkdir_p("#{folder}/target/release")
      tool("#{folder}/target/release", "hecaton", 'echo "help of $*"')
      assert_equal "help of sweep -h\n", said(folder, "sweep", "-h")
      assert_match(/not built yet/, said(folder, "help", "fetch"))
      refute_path_exists "#{folder}/.setup"
    end
  end

  private

  def said(folder, *words) = IO.popen(["#{folder}/bin/hecaton", *words], err: %i[child out], &:read)

  def tool(path, name, script)
    File.write("#{path}/#{name}", "#!/bin/sh\n#{script}\n")
    File.chmod(0o755, "#{path}/#{name}")
  end

  # bin/setup in a folder of its own, where nothing has been set up.
  def checkout(path)
    FileUtils.mkdir_p(["#{path}/checkout/bin", "#{path}/checkout/crates", "#{path}/checkout/ruby/ext"])
    %w[Cargo.toml Cargo.lock ruby/Rakefile].each { |name| FileUtils.touch("#{path}/checkout/#{name}") }
    FileUtils.cp(%W[#{ROOT}/bin/setup #{ROOT}/bin/apt], "#{path}/checkout/bin")
    "#{path}/checkout/bin/setup"
  end
end
