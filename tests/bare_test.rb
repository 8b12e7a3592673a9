# README names what its two commands need, and tests/bare makes a machine with nothing else.
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

  private

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
