# What the gem is made of: built by `rake package` and `rake package:native` from the folders that they lay out, and by
# Bundler from a checkout.
require_relative "lib/hecaton/version"

Gem::Specification.new do |spec|
  spec.name = "hecaton"
  spec.version = Hecaton::VERSION
  spec.summary = "Many HTTP requests at once, fast and without surprises"
  spec.description = "An HTTP client on an engine in Rust: a mandatory total deadline, no hidden retries, " \
                     "every attempt visible, and batches that callbacks may refill while they run."
  spec.authors = ["The Hecaton developers"]
  spec.homepage = "https://rubygems.org/gems/hecaton"
  spec.licenses = ["MIT", "Apache-2.0"]
  spec.metadata = { "rubygems_mfa_required" => "true" }
  spec.files = Dir.chdir(__dir__) {
    Dir["lib/**/*.rb", "sig/**/*.rbs", "examples/*.rb", "docs/**/*.md", "*.md", "LICENSE-*", "THIRD_PARTY_LICENSES"]
  }
  if File.exist?(File.join(__dir__, "ext"))
    spec.required_ruby_version = ">= 3.1"
    spec.requirements = ["Rust >= 1.87", "libclang"]
    spec.files += Dir.chdir(__dir__) {
      Dir["ext/**/*.{rb,rs,toml}", "crates/**/*.{rs,toml}", "Cargo.{toml,lock}", "rustfmt.toml"]
    }
    spec.extensions = ["ext/hecaton/extconf.rb"]
  else # the precompiled gem, for the platform and the Rubies that it was compiled for
    libraries = Dir.chdir(__dir__) { Dir["lib/hecaton/*/hecaton_native.{so,bundle}"] }
    abis = libraries.map { |library| Gem::Version.new("#{library.split("/")[-2]}.0") }.sort
    spec.required_ruby_version = [">= #{abis.first}", "< #{abis.last.bump}.dev"]
    # Older ones drop the C library from the platform. They can install a file, so only a published gem needs this.
    spec.required_rubygems_version = ">= 3.3.22" if ENV["HECATON_PUBLISHED"]
    spec.platform = Gem::Platform.new(ENV.fetch("HECATON_GEM_PLATFORM").split("-"))
    spec.files += libraries
  end
end
