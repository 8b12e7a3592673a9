# The making of the gems: the pages in them and their links, the check of the documentation, the bill of materials, and
# the error of a gem without an engine.
# After `rake package:native`, whose folder is looked at.
require "minitest/autorun"
require "open3"
require "rubygems/package"
require "tmpdir"

ROOT = File.expand_path("..", __dir__)
require "#{ROOT}/ruby/tasks/readme"
require "#{ROOT}/ruby/tasks/documentation"
require "#{ROOT}/release/sbom"

class PackagingTest < Minitest::Test
  def setup = @folder = Dir.mktmpdir
  def teardown = FileUtils.rm_rf(@folder)

  def write(files)
    files.each do |path, text|
      FileUtils.mkdir_p(File.dirname("#{@folder}/#{path}"))
      File.write("#{@folder}/#{path}", text)
    end
  end

  def read(path) = File.read("#{@folder}/#{path}")
end

class ReadmeTest < PackagingTest
  def test_links_lead_to_where_things_are_in_the_gem_or_become_their_text
    write("a/ruby/README.md" => "[settings](../docs/settings.md#timeout) " \
      "[programs](examples/) [how](../ARCHITECTURE.md) [web](https://example/) [here](#top)",
      "a/docs/settings.md" => "[first](../ruby/README.md) [second](errors.md) " \
      "[rest](decisions/tls.md) [gone](gone.md) ![chart](chart.svg)",
      "a/docs/errors.md" => "errors", "a/docs/decisions/tls.md" => "",
      "a/ARCHITECTURE.md" => "", "a/docs/chart.svg" => "", "a/ruby/examples/x.rb" => "")
    Readme.new("#{@folder}/a", "#{@folder}/b").write
    assert_equal "[settings](docs/settings.md#timeout) [programs](examples/) how [web](https://example/) [here](#top)",
      read("b/README.md").gsub("examples)", "examples/)")
    assert_equal "[first](../README.md) [second](errors.md) rest gone chart", read("b/docs/settings.md")
    assert_equal "errors", read("b/docs/errors.md")
  end

  def test_code_is_no_link
    text = "```ruby\nlist[0](1)\n```\n`list[0](1)` [page](page.md)"
    assert_equal ["page.md"], Readme.links(text)
    write("a/ruby/README.md" => text)
    Readme.new("#{@folder}/a", "#{@folder}/b").write
    assert_equal text.sub("[page](page.md)", "page"), read("b/README.md")
  end

  def test_every_link_of_the_packaged_pages_leads_to_a_file_of_the_gem
    folder = "#{ROOT}/target/gem-native"
    gem = Dir["#{ROOT}/target/hecaton-*-*.gem"].max_by { |file| File.mtime(file) }
    files = Gem::Package.new(gem).spec.files
    pages = files.grep(/\.md\z/)
    assert_includes pages, "README.md"
    dead = pages.flat_map do |page|
      Readme.links(File.read("#{folder}/#{page}")).reject do |target|
        path = File.expand_path(target, "/#{File.dirname(page)}").delete_prefix("/")
        files.any? { |file| file == path || file.start_with?("#{path}/") }
      end.map { |target| "#{page}: #{target}" }
    end
    assert_empty dead
  end
end

class DocumentationTest < PackagingTest
  PAGE = { "a/README.md" => "= Words\n" }.freeze
  SOURCE = <<~RUBY.freeze
    # A class.
    class Documented
      def initialize(value); end
      # A method.
      def first = 1
      alias again first
      def second = 2
      attr_reader :third

      private

      def fourth = 4
    end

    # A module.
    module Tools
      module_function

      # A method.
      def fifth(value) = value.map do |each|
        each
      end

      def sixth; end
      private_class_method :sixth
    end
  RUBY

  def documentation(source)
    write(PAGE.merge("a/lib/source.rb" => source))
    Documentation.new("#{@folder}/a", "#{@folder}/doc")
  end

  def test_what_is_public_and_has_no_comment_is_missed
    documentation = documentation(SOURCE)
    assert_equal ["lib/source.rb:7 Documented#second", "lib/source.rb:8 Documented#third"], documentation.missing
    assert_empty documentation.warnings
    assert_path_exists "#{@folder}/doc/Tools.html"
  end

  def test_a_module_of_another_library_is_that_ones_to_tell_of
    nested = "module Other\n  # A class.\n  class HecatonInside\n  end\nend\n"
    assert_empty documentation(nested).missing
    assert_equal ["lib/source.rb Other", "lib/source.rb:5 Other#open"],
      documentation(nested.sub(/end\n\z/, "  def open; end\nend\n")).missing
  end

  def test_with_comments_nothing_is_missed
    documentation = documentation(SOURCE.gsub(/^  (def second|attr)/, "  # It.\n  \\1"))
    assert_empty documentation.missing
    assert_equal 8, documentation.size
  end

  def test_what_rdoc_complains_of_is_a_warning
    assert_match(/gone\.txt/, documentation("# A class.\n# :include: gone.txt\nclass Broken\nend\n").warnings.join)
  end

  def test_a_method_without_end_is_the_same_with_one
    { "def a = 1\n" => "def a; 1; end\n", "def self.a?(b, c: (1)) = b\n" => "def self.a?(b, c: (1)); b; end\n",
      "def a=(b)\n  @a = b\nend\n" => "def a=(b)\n  @a = b\nend\n", "def ==(b) = b\n" => "def ==(b); b; end\n",
      "def a(b) =\n  b\n" => "def a(b);\n  b; end\n",
      "def é = { \"ü\" => 1 } # ö\n" => "def é; { \"ü\" => 1 }; end # ö\n" }.each do |before, after|
      assert_equal after, Endless.rewrite(before)
    end
  end
end

class SbomTest < Minitest::Test
  TREE = <<~TEXT.freeze
    0tool v0.1.0 (/somewhere/tool)|MIT OR Apache-2.0
    1engine v0.1.0 (/somewhere/engine)|MIT
    2ring v0.17.14|Apache-2.0 AND ISC
    1ring v0.17.14|Apache-2.0 AND ISC (*)
    1fnv v1.0.7|Apache-2.0 / MIT
  TEXT
  LOCK = "[[package]]\nname = \"ring\"\nversion = \"0.17.14\"\nsource = \"registry\"\nchecksum = \"ab\"\n".freeze

  def test_each_crate_is_named_once_with_its_licence_checksum_and_needs
    bill = Sbom.new(TREE, LOCK).document("tool.tar.gz", "2026-01-01T00:00:00Z")
    assert_equal %w[engine ring fnv], bill[:components].map { |crate| crate[:name] }
    assert_equal [nil, [{ alg: "SHA-256", content: "ab" }], nil], bill[:components].map { |crate| crate[:hashes] }
    assert_equal "Apache-2.0 OR MIT", bill[:components].last[:licenses][0][:expression]
    needs = bill[:dependencies].to_h { |entry|
      [entry[:ref][/cargo.(.*)@/, 1], entry[:dependsOn].map { |purl| purl[/cargo.(.*)@/, 1] }]
    }
    assert_equal({ "tool" => %w[engine ring fnv], "engine" => %w[ring], "ring" => [], "fnv" => [] }, needs)
  end
end

class NoEngineTest < PackagingTest
  ABI = RUBY_VERSION[/\A\d+\.\d+/]

  # The message of loading where the gem has these engines.
  def said(*engines)
    FileUtils.mkdir_p("#{@folder}/lib/hecaton")
    FileUtils.cp("#{ROOT}/ruby/lib/hecaton/native.rb", "#{@folder}/lib/hecaton")
    engines.each { |engine| write("lib/hecaton/#{engine}.#{RbConfig::CONFIG["DLEXT"]}" => "no library") }
    output, status = Open3.capture2e(RbConfig.ruby, "--disable-gems", "-I#{@folder}/lib", "-e",
      'require "hecaton/native"')
    refute_predicate status, :success?
    output[/Hecaton's engine.*/]
  end

  def test_a_gem_for_other_rubies_says_for_which
    assert_match(/engine for Ruby #{ABI} .* is not in this gem, which has it for Ruby 2\.9, 9\.9: use one of these, or install .*--platform ruby/,
      said("9.9/hecaton_native", "2.9/hecaton_native"))
  end

  def test_one_that_was_never_compiled_says_how
    assert_match(/engine for Ruby #{ABI} .* is not compiled: in a checkout run bin\/setup/, said)
  end

  def test_one_that_this_machine_cannot_load_says_what_the_machine_said
    assert_match(/engine for Ruby #{ABI} .* cannot be loaded on this machine, install .*: .*hecaton_native/,
      said("#{ABI}/hecaton_native", "9.9/hecaton_native"))
    assert_match(/cannot be loaded on this machine/, said("hecaton_native"))
  end
end
