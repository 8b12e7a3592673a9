# The folder that a gem is made from: what every gem has, what one of a kind has besides, and `gem build`.
require "fileutils"
require "rubygems/package"
require_relative "readme"

class Stage
  ENGINE = "hecaton_native.#{RbConfig::CONFIG["DLEXT"]}".freeze

  # RubyGems' name for this machine, with the C library, whose kinds do not mix.
  def self.platform
    system = RbConfig::CONFIG["host_os"]
    cpu = RbConfig::CONFIG["host_cpu"]
    return "#{cpu.sub("aarch64", "arm64")}-darwin" if system.include?("darwin")

    "#{cpu}-linux-#{system.include?("musl") ? "musl" : "gnu"}"
  end

  def self.strip(library, to)
    FileUtils.mkdir_p(File.dirname(to))
    FileUtils.cp(library, to)
    system("strip", RUBY_PLATFORM.include?("darwin") ? "-x" : "--strip-unneeded", to, exception: true)
  end

  def initialize(folder)
    @folder = folder
    FileUtils.rm_rf(folder)
    add("ruby/lib" => "lib", "ruby/sig" => "sig",
      "ruby/examples" => "examples", "ruby/hecaton.gemspec" => "hecaton.gemspec")
    FileUtils.rm(Dir["#{folder}/lib/**/*.{so,bundle,new}"])
    FileUtils.cp(Dir["#{ROOT}/LICENSE-*"], folder)
    Readme.new(ROOT, folder).write
  end

  # Files and folders, named from the repository's root, and where they are in the gem.
  def add(paths)
    paths.each do |from, to|
      FileUtils.mkdir_p(File.dirname("#{@folder}/#{to}"))
      FileUtils.cp_r(File.expand_path(from, ROOT), "#{@folder}/#{to}")
    end
  end

  # An engine for one Ruby, as it is, and without the symbols that nobody calls.
  def engine(abi, library) = add(library => "lib/hecaton/#{abi}/#{File.basename(library)}")
  def stripped(abi, library) = self.class.strip(library, "#{@folder}/lib/hecaton/#{abi}/#{ENGINE}")

  # Its file is named after the platform as the specification says it, in target/.
  def build(environment = {})
    name = ["hecaton", Hecaton::VERSION, *environment.values].join("-")
    Dir.chdir(@folder) {
      system(environment, "gem", "build", "--quiet", "--output",
        "#{TARGET}/#{name}.gem", "hecaton.gemspec", exception: true)
    }
  end
end
