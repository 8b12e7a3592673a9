# Compiles the engine when the gem is installed from source: reports what is missing first, then runs Cargo.
require "fileutils"
require "open3"
require "rbconfig"
require "rubygems"
require "tmpdir"

# Checks the machine before anything is compiled, so that one sentence names all that it lacks.
module Machine
  # The newest that a crate in Cargo.lock needs; `rake package` checks it.
  RUST = "1.87".freeze
  PACKAGES = "Debian: apt-get install ruby-dev gcc make libclang-dev; Alpine: apk add ruby-dev build-base clang-dev; " \
             "Fedora: dnf install ruby-devel gcc make clang-devel; macOS: xcode-select --install".freeze
  # Where the crate that looks for it does.
  CLANG = %w[/usr/lib*/*/* /usr/lib*/* /usr/lib* /usr/local/llvm*/lib*
             /usr/local/lib*/*/* /usr/local/lib*/* /usr/local/lib*].freeze

  module_function

  def lacks = [rust, linker, make, headers, clang].compact

  def rust
    return "Rust is missing: Cargo #{RUST} or newer (https://rustup.rs)" unless found?("cargo") && found?("rustc")

    version = Open3.capture2e("rustc", "--version").first[/\Arustc (\d+\.\d+\.\d+)/, 1]
    return "Rust does not work: `rustc --version` does not print its version" unless version

    if Gem::Version.new(version) < Gem::Version.new(RUST)
      "Rust #{version} is too old: #{RUST} or newer is needed (rustup update)"
    end
  end

  def linker
    return if found?("cc") || ENV["RUSTFLAGS"].to_s.include?("linker")

    "a C compiler is missing, by which Rust links (cc)"
  end

  def make = ("make is missing, by which RubyGems installs what was compiled" unless found?(ENV["MAKE"] || "make"))

  def headers
    "Ruby's headers are missing (ruby.h)" unless File.exist?(File.join(RbConfig::CONFIG["rubyhdrdir"], "ruby.h"))
  end

  # Elsewhere than on Linux, and where these variables are set, the crate itself reports what it does not find.
  def clang
    return unless RUBY_PLATFORM.include?("linux") &&
                  ENV.values_at("LIBCLANG_PATH", "LLVM_CONFIG_PATH", "LD_LIBRARY_PATH").none?

    unless found?("llvm-config") || Dir[*CLANG.map { |folder| "#{folder}/libclang{,-*}.so*" }].any?
      "libclang is missing, which reads Ruby's headers"
    end
  end

  def found?(command)
    ENV["PATH"].to_s.split(File::PATH_SEPARATOR).any? { |folder|
      File.executable?(File.join(folder, command.split.first))
    }
  end
end

# One call of Cargo, in a folder of its own that is gone afterwards: some 100 MB less in the folder of the gem.
module Engine
  LIBRARY = "hecaton_native.#{RbConfig::CONFIG["DLEXT"]}".freeze
  DARWIN = RUBY_PLATFORM.include?("darwin")

  module_function

  def compile
    Dir.mktmpdir do |target|
      # The symbols of Ruby are found when it loads the library; macOS needs a flag for that.
      lookup = DARWIN ? %w[-- -C link-arg=-Wl,-undefined,dynamic_lookup] : []
      done = system({ "RUBY" => RbConfig.ruby }, "cargo", "rustc", "--release", "--locked", "--lib",
        "--manifest-path", File.join(__dir__, "Cargo.toml"), "--target-dir", target, *lookup)
      abort "hecaton: Cargo could not compile the engine; what it said stands above." unless done
      FileUtils.cp(File.join(target, "release", "libhecaton_native.#{DARWIN ? "dylib" : "so"}"), LIBRARY)
    end
  end

  # The Makefile that RubyGems runs next: it installs, and has nothing to compile.
  def makefile
    File.write("Makefile", <<~MAKE)
      sitearchdir = #{RbConfig::CONFIG["sitearchdir"]}
      all clean:
      install:
      \tmkdir -p "$(DESTDIR)$(sitearchdir)/hecaton"
      \tcp #{LIBRARY} "$(DESTDIR)$(sitearchdir)/hecaton/"
      \trm #{LIBRARY}
    MAKE
  end
end

lacks = Machine.lacks
abort <<~SENTENCE if lacks.any?
  hecaton: this gem compiles its engine when it is installed, and cannot here: #{lacks.join("; ")}.
  Install what is missing (#{Machine::PACKAGES}; Rust by https://rustup.rs) and try again,
  or install the precompiled gem, where there is one for this platform (docs/installing.md).
SENTENCE
Engine.compile
Engine.makefile
