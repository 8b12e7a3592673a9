# bin/bench --against from end to end: two builds in the same blocks, builds that are made and kept, and drivers of
# one's own.
require "minitest/autorun"
require "fileutils"
require "json"
require "open3"
require "tmpdir"
require_relative "../benches/against/builds"
require_relative "../benches/against/instructions"

class AgainstTest < Minitest::Test
  ROOT = File.expand_path("..", __dir__)
  HECATON = File.join(ROOT, "bin/hecaton")

  # A folder with a manifest for each of these names of clients, all of them this checkout's gem.
  def drivers(*names)
    Dir.mktmpdir do |folder|
      FileUtils.chmod(0o755, folder) # drivers may run as another user
      names.each { |name| File.write(File.join(folder, "#{name}.toml"), manifest(name)) }
      yield folder
    end
  end

  def manifest(name)
    file, model = Builds::CLIENTS.fetch(name[/\A[a-z-]+(?=@)/] || "hecaton-ruby")
    library, driver = File.join(ROOT, "ruby/lib"), File.join(ROOT, "drivers/ruby", file)
    <<~TOML
      client = "#{name}"
      language = "ruby"
      homepage = "https://example.com"
      approach = "idiomatic"
      version = ["ruby", "-I", "#{library}", "-rhecaton", "-e", "puts Hecaton::VERSION"]
      run = ["ruby", "-I", "#{library}", "#{driver}", "--as=#{name}"]
      can = ["http1", "tls", "keep-alive", "#{model}"]
    TOML
  end

  BUILDS = %w[hecaton-ruby hecaton-get].product(%w[checkout same]).map { |parts| parts.join("@") }

  def test_a_build_is_not_told_apart_from_itself
    drivers(*BUILDS) do |folder|
      out = File.join(folder, "out")
      output, log, status = Open3.capture3(HECATON, "bench", "--drivers", folder, "--against", "same", "--quick",
        "--json", "-o", out)
      assert status.success?, log
      document = JSON.parse(output)
      assert_equal [%w[batch get], []], [document["parts"].map { _1["name"] }, document["left_out"]]
      # Two figures of each client in six places: one, fifty and two hundred in flight, small bodies and large ones.
      assert_equal 24, document["goals"].size
      document["goals"].each { |goal|
        assert_match(/÷ hecaton-(ruby|get)@same at .* not told apart, 2 rounds are too few/, goal["sentence"])
      }
      assert_equal document, JSON.parse(File.read(File.join(out, "bench.json")))
    end
  end

  def test_a_build_that_nobody_made_is_a_sentence
    _, log, status = Open3.capture3(HECATON, "bench", "--against", "1a2b3c4")
    assert_equal [2,
                  "hecaton: no clients of a build called 1a2b3c4 are known; " \
                  "`bin/bench --against REV` builds a revision, and names " \
                  "its clients\n"], [status.exitstatus, log]
    _, log, status = Open3.capture3(File.join(ROOT, "bin/bench"), "--against", "no-such-revision")
    assert_equal 2, status.exitstatus, log
    assert_match(/\Abin\/bench: no commit of this repository is called `no-such-revision`: .*\n\z/, log.lines.last)
  end

  def test_a_driver_of_ones_own_is_measured_beside_a_known_client
    drivers("mine") do |folder|
      output, log, status =
        Open3.capture3(HECATON, "compare", "mine", "hecaton-ruby", "--drivers", folder, "--rounds", "1", "--json",
          "--out", File.join(folder, "out"))
      assert status.success?, log
      document = JSON.parse(output)
      assert_equal %w[mine hecaton-ruby], document["comparison"]["pair"]["names"]
      document["rows"].each { |row| assert_equal [true, nil, 0], row.values_at("verified", "rejected", "errors"), row }
    end
  end

  def test_a_name_that_is_taken_is_a_sentence
    drivers("hecaton-ruby") do |folder|
      _, log, status = Open3.capture3(HECATON, "drivers", "--drivers", folder)
      assert_equal 1, status.exitstatus
      assert_match(/the client hecaton-ruby has another manifest in .*drivers\/ruby; /, log)
      assert_match(/; names are unique, so choose another name/, log)
    end
  end

  # A project of one file that has what Builds looks for; its bridge is real, and loaded by nothing.
  def project
    Dir.mktmpdir do |root|
      write(root,
        "Cargo.toml" => "[workspace]\n[package]\nname = \"hecaton_native\"\nversion = \"0.1.0\"\nedition = \"2021\"\n" \
        "[lib]\ncrate-type = [\"cdylib\"]\n",
        "Cargo.lock" => "version = 3\n\n[[package]]\nname = \"hecaton_native\"\nversion = \"0.1.0\"\n",
        "src/lib.rs" => "", "ruby/lib/hecaton.rb" => "Hecaton = 1\n", "ruby/lib/hecaton/client.rb" => "")
      git(root, "init", "--quiet")
      yield root, commit(root)
    end
  end

  def write(root, files)
    files.each do |name, text|
      FileUtils.mkdir_p(File.dirname(File.join(root, name)))
      File.write(File.join(root, name), text)
    end
  end

  def commit(root)
    git(root, "add", ".")
    git(root, "-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "--quiet", "--message", "A commit")
    git(root, "rev-parse", "HEAD").chomp
  end

  def git(root, *words)
    output, status = Open3.capture2e("git", "-C", root, *words)
    assert status.success?, output
    output
  end

  def make(root, revision)
    builds = Builds.new(root)
    _, log = capture_io { builds.make(revision) }
    [builds, log.scan(/of (this checkout|revision \w+)/).flatten]
  end

  def test_both_builds_are_made_and_that_of_a_revision_is_kept
    project do |root, first|
      write(root, "ruby/lib/hecaton.rb" => "Hecaton = 2\n")
      builds, made = make(root, first)
      assert_equal ["revision #{first[0, 10]}", "this checkout"], made
      says = builds.libraries.transform_values { |library|
        IO.popen(["ruby", "-I", library, "-rhecaton", "-e", "print Hecaton"], &:read)
      }
      assert_equal({ "checkout" => "2", first[0, 10] => "1" }, says)
      clients = Dir[File.join(builds.drivers, "*.toml")].map { |file| File.basename(file, ".toml") }
      assert_equal %w[hecaton-get hecaton-ruby]
        .product(["checkout", first[0, 10]]).map { |parts| parts.join("@") }.sort,
        clients.sort
      assert_equal ["this checkout"], make(root, "HEAD").last
    end
  end

  # Files of a revision are as old as its commit, and older than any build.
  def test_each_build_is_compiled_from_its_own_files
    project do |root, first|
      write(root, "src/lib.rs" => "#[unsafe(no_mangle)]\npub extern \"C\" fn marked() {}\n")
      second = commit(root)
      write(root, "src/lib.rs" => "")
      File.utime(File.atime(root), Time.now - 86_400, File.join(root, "src/lib.rs"))
      marked = [first, second].to_h do |revision|
        libraries = make(root, revision).first.libraries
        [revision, libraries.transform_values { |library|
          File.binread(File.join(library, "hecaton", Builds::LIBRARY)).include?("marked")
        }]
      end
      assert_equal [{ "checkout" => false, first[0, 10] => false }, { "checkout" => false, second[0, 10] => true }],
        marked.values
    end
  end

  def test_what_does_not_build_or_load_is_a_sentence
    project do |root, _|
      write(root, "src/lib.rs" => "fn f() -> u8 {}", ".gitignore" => "target\n")
      commit(root)
      error = assert_raises(Builds::Failed) { make(root, "HEAD") }
      assert_match(/\Athe gem of revision \h{10} does not build: error.*; .*build.log has the rest\z/, error.message)
      write(root, "src/lib.rs" => "", "ruby/lib/hecaton.rb" => "raise 'no engine'")
      commit(root)
      error = assert_raises(Builds::Failed) { make(root, "HEAD") }
      assert_match(/was built and cannot be loaded: .*no engine/, error.message)
      assert_raises(Builds::Failed, "it is not taken for a build") { make(root, "HEAD") }
      assert_raises(Builds::Unknown) { make(root, "nowhere") }
    end
  end
end
