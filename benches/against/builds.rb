# Builds the gem of this checkout and that of another revision, and writes a manifest for each of their clients.
#
# Each build has a target folder of its own. In a shared folder, Cargo would mix up the two builds, because it compiles
# a file again only if the file is newer. The clients are the drivers of this checkout, once with each library.
require "fileutils"
require "json"
require "open3"

class Builds
  Unknown = Class.new(StandardError)
  Failed = Class.new(StandardError)

  # Driver, and how it keeps requests in flight, by client.
  CLIENTS = { "hecaton-ruby" => %w[hecaton.rb batch], "hecaton-get" => %w[hecaton_get.rb threads] }.freeze
  CHECKOUT = "checkout".freeze
  LIBRARY = "hecaton_native.#{RbConfig::CONFIG["DLEXT"]}".freeze

  attr_reader :name, :drivers

  def initialize(root)
    @root = root
    @folder = File.join(root, "target/against")
  end

  # Builds both, and sets `name` (of the revision) and `drivers` (the folder of the manifests).
  def make(revision)
    commit = resolve(revision)
    @name = commit[0, 10]
    FileUtils.mkdir_p(@folder)
    File.open(File.join(@folder, "lock"), "w") do |lock|
      lock.flock(File::LOCK_EX) # the checkout's build is replaced
      other = of_commit(commit)
      @libraries = { CHECKOUT => of_checkout, @name => other }
    end
    @drivers = write_manifests
    self
  end

  # The library folder of each build; the checkout's is the first.
  attr_reader :libraries

  # The program and the arguments of a client's driver with the library of a build.
  def driver(client, build)
    ["ruby", "-I", @libraries.fetch(build), File.join(@root, "drivers/ruby", CLIENTS.fetch(client).first),
     "--as=#{client}@#{build}"]
  end

  private

  def resolve(revision)
    commit, _, status = Open3.capture3("git", "-C", @root, "rev-parse", "--verify", "--quiet", "--end-of-options",
      "#{revision}^{commit}")
    return commit.chomp if status.success?

    raise Unknown,
      "no commit of this repository is called `#{revision}`: " \
      "give a commit, a branch or a tag (a shallow clone gets the " \
      "older ones by `git fetch --unshallow`)"
  end

  # The checkout is built each time, because its files may have changed.
  def of_checkout
    target = File.join(@folder, "target-#{CHECKOUT}")
    build(@root, target, "this checkout")
    library = File.join(@folder, CHECKOUT)
    FileUtils.rm_rf(library)
    FileUtils.cp_r(File.join(@root, "ruby/lib"), library)
    install(library, target)
  end

  # A revision never changes, so its build is reused.
  def of_commit(commit)
    folder = File.join(@folder, @name)
    library = File.join(folder, "ruby/lib")
    return library if File.exist?(File.join(library, "hecaton", LIBRARY))

    unpack(commit, folder)
    target = File.join(folder, "target")
    build(folder, target, "revision #{@name}")
    install(library, target)
    FileUtils.rm_rf(target) # half a gigabyte that nobody needs again
    library
  end

  def unpack(commit, folder)
    FileUtils.rm_rf(folder)
    FileUtils.mkdir_p(folder)
    statuses = Open3.pipeline(["git", "-C", @root, "archive", commit], ["tar", "x", "-C", folder])
    raise Failed, "the files of #{@name} could not be unpacked into #{folder}" unless statuses.all?(&:success?)
  end

  # Builds the bridge alone, as for an installed gem: with the command, shared dependencies would have more features.
  def build(folder, target, what)
    warn "building the gem of #{what} (a few minutes the first time)"
    log = File.join(@folder, "build.log")
    cargo = %w[cargo build --release --locked --package hecaton_native]
    built = system(*cargo, "--manifest-path", File.join(folder, "Cargo.toml"), "--target-dir", target, out: log,
      err: %i[child out])
    raise Failed, "the gem of #{what} does not build: #{last_error(log)}; #{log} has the rest" unless built
  end

  def last_error(log) = File.readlines(log, chomp: true).grep(/\Aerror/).first || "cargo ended without an error"

  # Renames the library last, so that a library under its final name is complete and loads.
  def install(library, target)
    native = File.join(library, "hecaton", LIBRARY)
    FileUtils.cp(File.join(target, "release/libhecaton_native.#{RbConfig::CONFIG["DLEXT"]}"), "#{native}.new")
    File.rename("#{native}.new", native)
    output, status = Open3.capture2e("ruby", "-I", library, "-rhecaton", "-e", "")
    return library if status.success?

    File.delete(native)
    raise Failed, "the gem in #{library} was built and cannot be loaded: #{output.lines.first.to_s.chomp}"
  end

  def write_manifests
    folder = File.join(@folder, "drivers-#{@name}")
    FileUtils.rm_rf(folder)
    FileUtils.mkdir_p(folder)
    @libraries.each_key do |build|
      CLIENTS.each_key { |client| File.write(File.join(folder, "#{client}@#{build}.toml"), manifest(client, build)) }
    end
    folder
  end

  def manifest(client, build)
    driver = driver(client, build)
    <<~TOML
      # Written by bin/bench --against.
      client = #{JSON.generate("#{client}@#{build}")}
      language = "ruby"
      homepage = "https://rubygems.org/gems/hecaton"
      approach = "idiomatic"
      version = #{JSON.generate([*driver.first(3), "-rhecaton", "-e", "puts Hecaton::VERSION"])}
      run = #{JSON.generate(driver)}
      can = #{JSON.generate(["http1", "tls", "keep-alive", CLIENTS.fetch(client).last])}
    TOML
  end
end
