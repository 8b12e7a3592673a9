# rake package: the gem that compiles its engine · rake package:native: the precompiled gem, for each Ruby at
# hand.
require_relative "stage"

# Gems are made in target/, each from a folder that has what is in it and no more.
SOURCE = File.join(TARGET, "gem")
NATIVE = File.join(TARGET, "gem-native")

desc "Make the gem that compiles its engine when it is installed"
task :package do
  stage = Stage.new(SOURCE)
  stage.add("ruby/ext" => "ext", "crates/hecaton" => "crates/hecaton")
  notices(stage)
  # A workspace of its own, and links to what the gem has.
  FileUtils.rm_rf(%w[fuzz LICENSE-MIT LICENSE-APACHE].map { |name| "#{SOURCE}/crates/hecaton/#{name}" })
  FileUtils.cp(Dir["#{ROOT}/{Cargo.lock,rustfmt.toml}"], SOURCE)
  manifest = File.read("#{ROOT}/Cargo.toml")
  # Without what it says of single packages of the command's, which are not there.
  manifest = manifest.sub(/^members = .*$/, 'members = ["crates/*", "ext/*"]')
    .gsub(/^\[profile\.(release|dev)\.package\..*?(?=^\[|\z)/m, "")
  File.write("#{SOURCE}/Cargo.toml", manifest)
  # Leaves in the lock file what the gem needs, at the versions that were tested.
  sh "cargo", "tree", "--quiet", "--edges", "normal,build", "--manifest-path", "#{SOURCE}/Cargo.toml", out: File::NULL
  check_rust_version
  stage.build
end

# The Rust version in the gem's check before it compiles is the one that its newest crate needs.
def check_rust_version
  metadata =
    JSON.parse(IO.popen(["cargo", "metadata", "--quiet", "--format-version",
                         "1", "--locked", "--manifest-path", "#{SOURCE}/Cargo.toml"], &:read))
  used = File.read("#{SOURCE}/Cargo.lock").scan(/^name = "(.*)"\nversion = "(.*)"/)
  crates = metadata["packages"].select { |crate|
    crate["rust_version"] && used.include?(crate.values_at("name", "version"))
  }
  newest = crates.max_by { |crate| Gem::Version.new(crate["rust_version"]) }
  said = { "ext/hecaton/extconf.rb" => /RUST = "([\d.]+)"/, "hecaton.gemspec" => /Rust >= ([\d.]+)/ }
  said.each do |file, version|
    next if File.read("#{SOURCE}/#{file}")[version, 1] == newest["rust_version"]

    abort "#{newest["name"]} needs Rust #{newest["rust_version"]}, and #{file} says another: correct it"
  end
end

desc "Make the precompiled gem: for this Ruby, those in RUBIES (commands, separated by spaces) and the current one; " \
     "or of what other machines have built, for what they are: " \
     "ENGINES=folder (ABI/hecaton_native.so) GEM_PLATFORM=aarch64-linux-musl"
task "package:native" do
  stage = Stage.new(NATIVE)
  if ENV["ENGINES"]
    engines = Dir["#{File.expand_path(ENV["ENGINES"], ROOT)}/*/hecaton_native.{so,bundle}"]
    abort "ENGINES=#{ENV["ENGINES"]} has no ABI/hecaton_native.so: rake engine makes them" if engines.empty?
    engines.each { |engine| stage.engine(File.basename(File.dirname(engine)), engine) }
  else
    engines { |abi, target| stage.stripped(abi, "#{target}/release/#{LIBRARY}") }
  end
  notices(stage)
  stage.build("HECATON_GEM_PLATFORM" => ENV.fetch("GEM_PLATFORM") { Stage.platform })
end

# Its libraries have other people's code in them. bin/release writes the list of it.
def notices(stage)
  return stage.add(ENV["HECATON_NOTICES"] => "THIRD_PARTY_LICENSES") if ENV["HECATON_NOTICES"]

  warn "This gem has no THIRD_PARTY_LICENSES, so it is not one to publish: bin/release makes one that has them."
end

desc "Build the engine for this Ruby as package:native takes it from other machines: " \
  "target/engines/PLATFORM/ABI/hecaton_native.so"
task engine: :build do
  Stage.strip("#{TARGET}/release/#{LIBRARY}",
    "#{TARGET}/engines/#{Stage.platform}/#{RUBY_VERSION[/\A\d+\.\d+/]}/#{Stage::ENGINE}")
end

# Builds the engine for each Ruby, and yields its ABI and Cargo's target folder.
# A release is compiled with other flags, so in a folder of its own: in one for both, each build would throw away what
# the other has made. That folder serves all Rubies, one after the other, because only one crate differs.
def engines
  release = File.join(TARGET, "release-engine") if ENV["HECATON_NOTICES"]
  Rake::Task[:build].invoke unless release
  yield RUBY_VERSION[/\A\d+\.\d+/], TARGET unless release
  [(RbConfig.ruby if release), *others].compact.each do |ruby|
    abi = abi_of(ruby)
    target = release || target_of(abi)
    cargo("--package", "hecaton_native", target: target, environment: environment_of(ruby))
    yield abi, target
  end
end

# The commands of the other Rubies: those in RUBIES, and those in folders of packages.
def others
  roots = File.join(ROOT, "tests/roots")
  found = { "ruby" => "current-ruby", "ruby-newest" => "newest-ruby" }.select { |_, folder|
    File.exist?("#{roots}/.installed/#{folder}.done")
  }
  ENV["RUBIES"].to_s.split + found.keys.map { |command| "#{roots}/#{command}" }
end
