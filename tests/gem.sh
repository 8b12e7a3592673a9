#!/usr/bin/env bash
# The gem as others get it: built, installed from its file alone, and used from where it lands.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
rake --rakefile "$root/ruby/Rakefile" package
# Hardly optimised, for all of it is compiled here: what the optimiser makes of it is what bin/setup has built and the other
# tests have used.
export CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=false
gem install --local --no-document --install-dir "$home" "$root"/target/hecaton-*.gem
diff --recursive "$root/ruby/sig" "$home"/gems/hecaton-*/sig
cat >"$home/use.rb" <<'RUBY'
require "hecaton"
origin = IO.popen([ENV.fetch("HECATON_BINARY"), "serve"])
url = origin.gets.chomp
client = Hecaton::Client.new(timeout: 5)
abort "get" unless client.get("#{url}/r/1").status == 200
ended = 0
client.batch(concurrency: 5) { |batch| 50.times { batch.get("#{url}/r/2").on_complete { |outcome| ended += 1 if outcome.response } } }
abort "batch: #{ended} of 50" unless ended == 50
Process.kill(:TERM, origin.pid)
native = $LOADED_FEATURES.grep(/hecaton.*\.(so|bundle)\z/)
abort "not loaded from the gem: #{native}" unless native.size == 1 && native[0].start_with?(ENV.fetch("GEM_HOME"))
puts "used #{Hecaton::VERSION} from the installed gem"
RUBY
cd "$home"
env -u RUBYLIB GEM_HOME="$home" GEM_PATH="$home" HECATON_BINARY="${HECATON_BINARY:-$root/target/release/hecaton}" ruby use.rb
