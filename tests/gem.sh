#!/usr/bin/env bash
# The gem that compiles its engine, as others get it: built, installed from its file alone, and used from where it lands.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
rake --rakefile "$root/ruby/Rakefile" package
gems=("$root"/target/hecaton-[0-9]*.[0-9].gem)
gem=${gems[0]}
install() { gem install --local --no-document --install-dir "$home/gems" "$gem"; }

# Where something is missing, nothing is compiled, and one sentence says what to install.
mkdir "$home/path" "$home/tools"
for tool in $(compgen -c | sort --unique | grep -Ev '^(cargo|rustc|\[|!)'); do
  file=$(type -P "$tool") && ln -s "$file" "$home/path/$tool"
done
said() { # WHAT, PATH: it must be said, and the installation must fail
  local output
  if output=$(PATH=$2 install 2>&1); then echo "installed although $1"; return 1; fi
  grep -F "$1" <<<"$output" | grep -F "cannot here: " || { echo "not said: $1"; tail -n 20 <<<"$output"; return 1; }
}
said "Rust is missing" "$home/path"
printf '#!/bin/sh\necho "rustc 1.70.0 (somewhen)"\n' | tee "$home/tools/rustc" >"$home/tools/cargo"
chmod +x "$home"/tools/*
said "Rust 1.70.0 is too old" "$home/tools:$PATH"
rm "$home/path/cc" "$home/path/make"
said "a C compiler is missing" "$home/path"
said "make is missing" "$home/path"

# Hardly optimised, for all of it is compiled here: what the optimiser makes of it is what bin/setup has built and the other
# tests have used.
export CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=false
install
diff --recursive "$root/ruby/sig" "$home"/gems/gems/hecaton-*/sig
# Nothing of what Cargo needed to build is left.
[[ -z $(find "$home/gems" -name target -o -name deps -o -name '*.rlib') ]] || { echo "Cargo's folder was left in the gem"; exit 1; }
cd "$home"
env -u RUBYLIB GEM_HOME="$home/gems" GEM_PATH="$home/gems" HECATON_BINARY="${HECATON_BINARY:-$root/target/release/hecaton}" ruby "$root/tests/use_gem.rb"
