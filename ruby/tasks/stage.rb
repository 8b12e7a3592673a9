# The folder that a gem is made from: what every gem has, what one of a kind has besides, and `gem build`.
require "fileutils"
require "rubygems/package"
require_relative "readme"

class Stage
  def self.platform
    system = RbConfig::CONFIG["host_os"]
    cpu = RbConfig::CONFIG["host_cpu"]
    return "#{cpu.sub("aarch64", "arm64")}-darwin" if system.include?("darwin")

    "#{cpu}-linux-#{system.include?("musl") ? "musl" : "gnu"}"
  end

  def initialize(folder)
    @folder = folder
    FileUtils.rm_rf(folder)
    add("ruby/lib" => "lib", "ruby/sig" => "sig", "ruby/examples" => "examples", "ruby/hecaton.gemspec" => "hecaton.gemspec")
    FileUtils.rm(Dir["#{folder}/lib/**/*.{so,bundle,new}"])
    FileUtils.cp(Dir["#{ROOT}/LICENSE-*"], folder)
    Readme.new(ROOT, folder).write
  end

  # Files and folders of the repository, and where they are in the gem.
  def add(paths)
    paths.each do |from, to|
      FileUtils.mkdir_p(File.dirname("#{@folder}/#{to}"))
      FileUtils.cp_r("#{ROOT}/#{from}", "#{@folder}/#{to}")
    end
  end

  # The engine for one Ruby, without the symbols that nobody calls.
  def engine(abi, library)
    placed = "#{@folder}/lib/hecaton/#{abi}/hecaton_native.#{RbConfig::CONFIG["DLEXT"]}"
    FileUtils.mkdir_p(File.dirname(placed))
    FileUtils.cp(library, placed)
    system("strip", RUBY_PLATFORM.include?("darwin") ? "-x" : "--strip-unneeded", placed, exception: true)
  end

  # Its file is named after the platform as the specification says it, in target/.
  def build(environment = {})
    name = ["hecaton", Hecaton::VERSION, *environment.values].join("-")
    Dir.chdir(@folder) { system(environment, "gem", "build", "--quiet", "--output", "#{TARGET}/#{name}.gem", "hecaton.gemspec", exception: true) }
  end
end
