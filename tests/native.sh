#!/usr/bin/env bash
# The precompiled gem, as others get it: installed where there is no compiler, no Rust and no libclang, and used there.
# With the Ruby of this machine in a folder of packages that has nothing else, and with the current one where bin/setup current-ruby
# has made it.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
limit=$((8 * 1024 * 1024))
fail() { echo "$*"; exit 1; }

rake --rakefile "$root/ruby/Rakefile" package:native
gems=("$root"/target/hecaton-*-"$(uname -m)"-linux-gnu.gem)
[[ ${#gems[@]} == 1 ]] || fail "not one gem: ${gems[*]}"
for library in "$root"/target/gem-native/lib/hecaton/*/hecaton_native.so; do
  size=$(stat --format %s "$library")
  echo "${library#"$root"/}: $size bytes, glibc $(objdump -T "$library" | grep -Eo 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1) or newer"
  [[ $size -le $limit ]] || fail "more than $limit bytes"
  ! objdump --syms "$library" | grep -q 'F .text' || fail "not stripped"
done

# Runs in the folder: `gem install` from the file, then a program. Neither may find a compiler.
# shellcheck disable=SC2016 # it is for the shell inside
use='
  for tool in cargo rustc cc gcc clang make; do ! command -v "$tool" || { echo "$tool is there, so this shows nothing"; exit 1; }; done
  GEM_HOME=$(mktemp -d) && export GEM_HOME GEM_PATH="$GEM_HOME" || exit
  trap "rm -rf \"$GEM_HOME\"" EXIT
  ruby -e '"'"'begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    system(*%w[gem install --local --no-document], ARGV[0]) or exit 1
    printf("installed in %.1f s, %.1f s of them on the processor\n", Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun, Process.times.cutime + Process.times.cstime)'"'"' "$1" || exit
  ruby "$2"
'
# Where no folder can be entered (no root, or a container without the right to mount), a PATH of a few programs has to do.
if [[ $(id -u) != 0 ]] || ! unshare --mount true 2>/dev/null; then
  echo "bare: this machine cannot enter a folder of packages; tried on it as it is, with a PATH that has no compiler"
  few=$(mktemp -d)
  trap 'rm -rf "$few"' EXIT
  for tool in env sh ruby gem mktemp rm; do ln -s "$(command -v "$tool")" "$few/$tool"; done
  HECATON_BINARY=${HECATON_BINARY:-$root/target/release/hecaton} PATH=$few sh -c "$use" sh "${gems[0]}" "$root/tests/use_gem.rb"
  ruby "$root/tests/packaging_test.rb"
  exit
fi
for folder in bare current-ruby; do
  if [[ $folder == bare ]]; then
    "$root/tests/roots/install" bare
  elif [[ ! -e $root/tests/roots/.installed/current-ruby.done ]]; then
    echo "current-ruby: not tried, for bin/setup current-ruby has not made it"
    continue
  fi
  "$root/tests/roots/enter" "$folder" sh -c "$use" sh "${gems[0]}" "$root/tests/use_gem.rb"
done

ruby "$root/tests/packaging_test.rb"
