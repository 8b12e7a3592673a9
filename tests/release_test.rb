# The files of bin/release, as others use them: the files of target/release-files alone, in folders of packages that
# have no compiler.
# It looks at what is there: the step `release` of bin/test makes all of it first.
require "digest"
require "English"
require "fileutils"
require "json"
require "minitest/autorun"
require "open3"
require "rubygems/package"
require "socket"
require "tmpdir"
require "zlib"

class ReleaseTest < Minitest::Test
  ROOT = File.expand_path("..", __dir__)
  FILES = "#{ROOT}/target/release-files".freeze
  ROOTS = "#{ROOT}/tests/roots".freeze
  CPU = `uname -m`.strip
  TARBALLS = Dir["#{FILES}/hecaton-*-linux-gnu.tar.gz"]
  GEMS = Dir["#{FILES}/*.gem"]
  CONTENTS = %w[
    bin/hecaton share/man/man1/hecaton.1.gz share/bash-completion/completions/hecaton
    share/zsh/site-functions/_hecaton share/fish/vendor_completions.d/hecaton.fish share/doc/hecaton/LICENSE-MIT
    share/doc/hecaton/LICENSE-APACHE share/doc/hecaton/THIRD_PARTY_LICENSES
  ].freeze
  # The command that the tests of the project use, as a server to download from.
  HECATON = ENV.fetch("HECATON_BINARY", "#{ROOT}/target/release/hecaton")
  # The oldest glibc that a tarball may need.
  GLIBC = File.read("#{ROOT}/bin/release")[/^glibc=([\d.]+)/, 1]

  def test_every_file_has_its_sum
    sums = File.readlines("#{FILES}/SHA256SUMS", chomp: true).to_h { |line| line.split("  ").reverse }
    files = Dir.children(FILES) - ["SHA256SUMS"]
    assert_equal files.sort, sums.keys.sort
    files.each { |file| assert_equal Digest::SHA256.file("#{FILES}/#{file}").hexdigest, sums[file], file }
    assert_operator TARBALLS.size, :>=, 1
    assert_operator GEMS.size, :>=, 2
  end

  def test_a_tarball_has_the_command_and_what_belongs_to_it
    TARBALLS.each do |tarball|
      unpacked(tarball) do |folder|
        CONTENTS.each { |file| assert File.size?("#{folder}/#{file}"), "#{tarball}: #{file}" }
        assert_licences File.read("#{folder}/share/doc/hecaton/THIRD_PARTY_LICENSES"), %w[parquet nats ring zstd-sys]
        manual = Zlib::GzipReader.open("#{folder}/share/man/man1/hecaton.1.gz", &:read)
        assert_match(/\.TH hecaton 1/, manual)
        assert_no_path(folder)
        assert_operator newest_glibc("#{folder}/bin/hecaton"), :<=, Gem::Version.new(GLIBC)
      end
    end
  end

  def test_each_gem_lists_the_code_of_others
    GEMS.each do |gem|
      Dir.mktmpdir do |folder|
        Gem::Package.new(gem).extract_files(folder)
        assert_licences File.read("#{folder}/THIRD_PARTY_LICENSES"), %w[ring zstd-sys rustls], gem
        assert_no_path(folder)
      end
    end
  end

  # The crates that are linked are those whose licences are in the file.
  def test_a_bill_of_materials_names_each_crate_with_its_checksum
    (TARBALLS + GEMS.grep(/\d\.gem\z/)).each do |file|
      bill = JSON.parse(File.read("#{file}.cdx.json"))
      assert_equal ["CycloneDX", File.basename(file)], [bill["bomFormat"], bill["metadata"]["component"]["name"]]
      known = bill["components"].to_h { |crate| [crate["name"], crate] }
      %w[ring rustls zstd-sys h2].each do |name|
        assert_match(/\A\h{64}\z/, known.fetch(name)["hashes"][0]["content"], name)
      end
      references = bill["dependencies"].flat_map { |entry| [entry["ref"], *entry["dependsOn"]] }
      named = [bill["metadata"]["component"], *bill["components"]].map { |crate| crate["bom-ref"] }
      assert_empty references - named
    end
  end

  # Over loopback into a folder that has no compiler, and then a download.
  def test_install_sh_and_the_first_download
    needs_roots
    roots = made("bare", "bare-arm64").select { |root| TARBALLS.any? { |tarball| tarball.include?(cpu_of(root)) } }
    with_downloads do |url|
      roots.each do |root|
        said = in_root(root, installation(url))
        assert_match(/^installed: hecaton \d/, said)
        assert_match(/^fetched in \d+ ms/, said)
        assert_match(/"status":200/, said)
        puts "#{root}: #{said[/^fetched in.*/]}"
      end
    end
  end

  def test_the_precompiled_gem_on_each_ruby
    needs_roots
    roots = made(*%w[bare current-ruby newest-ruby].flat_map { |root| [root, "#{root}-arm64"] })
    roots.each do |root|
      gem = GEMS.grep(/#{cpu_of(root)}-linux-gnu\.gem\z/).first or next
      said = in_root(root, <<~SH)
        set -e
        ruby() { if command -v ruby3.4 >/dev/null; then ruby3.4 "$@"; else command ruby "$@"; fi; }
        GEM_HOME=$(mktemp -d) && export GEM_HOME GEM_PATH="$GEM_HOME"
        trap 'rm -rf "$GEM_HOME"' EXIT
        ruby -S gem install --local --no-document #{gem} >&2
        ruby #{ROOT}/tests/use_gem.rb
      SH
      puts "#{root}: #{said[/^used .*/] || flunk("#{root}: #{said}")}"
    end
  end

  private

  # A folder of packages has neither curl nor wget: the shell's `fetch` is this program.
  FETCH = %q{fetch='require "net/http"; $stdout.write(Net::HTTP.get_response(URI(ARGV[0])).tap(&:value).body)'}.freeze

  def installation(url)
    <<~SH
      set -e
      for tool in cargo rustc cc gcc clang; do if command -v $tool; then exit 1; fi; done
      prefix=$(mktemp -d)
      #{FETCH}
      ruby -e "$fetch" #{url}/install.sh >"$prefix/install.sh"
      ruby -e "$fetch" #{url}/SHA256SUMS >"$prefix/sums"
      mkdir "$prefix/tools"
      { echo '#!/bin/sh'; echo "exec ruby -e '$fetch' \\"\\$4\\" >\\"\\$3\\""; } >"$prefix/tools/wget"
      chmod +x "$prefix/tools/wget"
      PATH=$prefix/tools:$PATH sh "$prefix/install.sh" #{url} --prefix "$prefix/usr" --sums "$prefix/sums"
      echo #{url}/SHA256SUMS >"$prefix/urls"
      begun=$(date +%s%N)
      "$prefix/usr/bin/hecaton" fetch "$prefix/urls" -o "$prefix/out" --quiet
      echo "fetched in $((($(date +%s%N) - begun) / 1000000)) ms"
      "$prefix/usr/bin/hecaton" fetch show "$prefix/out"
      rm -rf "$prefix"
    SH
  end

  # The folders of packages that are there, and their processor.
  def made(*roots) = roots.select { |root| File.exist?("#{ROOTS}/.installed/#{root}.done") }
  def cpu_of(root) = root.end_with?("-arm64") ? "aarch64" : CPU

  def needs_roots
    entered = Process.uid.zero? && system("unshare", "--mount", "true", err: File::NULL)
    skip "only root may enter a folder of packages" unless entered
    system("#{ROOTS}/install", "bare", exception: true)
  end

  def in_root(root, script)
    said, status = Open3.capture2e({ "HECATON_BINARY" => HECATON }, "#{ROOTS}/enter", root, "sh", "-c", script)
    assert status.success?, "#{root}: #{said}"
    said
  end

  # A web server on loopback that has the release.
  def with_downloads
    server = TCPServer.new("127.0.0.1", 0)
    serving = Thread.new { loop { serve(server.accept) } }
    yield "http://127.0.0.1:#{server.addr[1]}"
  ensure
    serving&.kill
    server&.close
  end

  def serve(connection)
    name = connection.gets.to_s.split[1].to_s.delete_prefix("/")
    nil until connection.gets.to_s.strip.empty?
    file = "#{FILES}/#{File.basename(name)}"
    body = File.binread(file) if File.file?(file)
    connection << "HTTP/1.1 #{body ? "200 OK" : "404 Not Found"}\r\n"
    connection << "Content-Length: #{body.to_s.bytesize}\r\nConnection: close\r\n\r\n#{body}"
  ensure
    connection.close
  end

  def unpacked(tarball)
    Dir.mktmpdir do |folder|
      assert system("tar", "-xzf", tarball, "-C", folder)
      yield "#{folder}/#{File.basename(tarball, ".tar.gz")}"
    end
  end

  def assert_licences(text, crates, what = nil)
    crates.each { |crate| assert_match(/^- .*#{Regexp.escape(crate)}/, text, what) }
    ["MIT License", "Apache License"].each { |name| assert_includes text, name, what }
  end

  # Neither the checkout nor Cargo's home is named, and no registry.
  def assert_no_path(folder)
    folders = [ROOT, ENV.fetch("CARGO_HOME") { File.join(Dir.home, ".cargo") }, "/registry/src/"]
    found = `grep -rlaF #{folders.map { |name| "-e #{name}" }.join(" ")} #{folder}`
    refute $CHILD_STATUS.success?, found
  end

  def newest_glibc(program)
    versions = File.binread(program).scan(/GLIBC_(\d+\.\d+(?:\.\d+)?)\0/).flatten
    versions.map { |version| Gem::Version.new(version) }.max
  end
end
