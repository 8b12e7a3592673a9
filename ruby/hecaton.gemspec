# What the gem is made of; built from the staged folder that `rake package` lays out.
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
  spec.required_ruby_version = ">= 3.1"
  # The first RubyGems with a builder for Cargo.
  spec.required_rubygems_version = ">= 3.3.11"
  spec.requirements = ["Rust >= 1.85", "libclang"]
  spec.files = Dir.chdir(__dir__) do
    Dir["lib/**/*.rb", "sig/**/*.rbs", "ext/**/*.{rs,toml}", "crates/**/*.{rs,toml}",
        "Cargo.{toml,lock}", "rustfmt.toml", "README.md", "LICENSE-*"]
  end
  spec.extensions = ["ext/hecaton/Cargo.toml"]
  # RubyGems before 3.4 asks for the crate's name; later ones read Cargo's own.
  spec.metadata = { "cargo_crate_name" => "hecaton_native", "rubygems_mfa_required" => "true" }
end
