#!/bin/sh
# Installs the command hecaton from the folder of a release that a web server has:
#
#   curl -fsSO https://HOST/PATH/install.sh && sh install.sh https://HOST/PATH
#   sh install.sh https://HOST/PATH --prefix /usr/local      default: /usr/local for root, else ~/.local
#   sh install.sh https://HOST/PATH --sums SHA256SUMS        the sums from a file that you have from elsewhere
#
# The download must have the SHA-256 sum of the list SHA256SUMS. A list from the same server shows that nothing was damaged on the way,
# and --sums that the files are those that you trust. Nothing outside of the prefix is written.
set -eu
fail() { echo "install.sh: $*" >&2; exit 1; }
usage() { sed -n 's/^#   //p' "$0" >&2; exit 2; }

base='' sums='' prefix=$HOME/.local
[ "$(id -u)" != 0 ] || prefix=/usr/local
while [ $# -gt 0 ]; do
  case $1 in
    --prefix) [ $# -ge 2 ] || usage; prefix=$2; shift 2 ;;
    --sums) [ $# -ge 2 ] || usage; sums=$2; shift 2 ;;
    -*) usage ;;
    *) [ -z "$base" ] || usage; base=${1%/}; shift ;;
  esac
done
[ -n "$base" ] || usage

system=$(uname -s) cpu=$(uname -m)
[ "$system" = Linux ] || fail "there is no build for $system: compile it from a checkout (cargo build --release --package hecaton-cli)"
getconf GNU_LIBC_VERSION >/dev/null 2>&1 || fail "the builds are for the C library glibc, which this system has not: compile it from a checkout"
if command -v curl >/dev/null; then
  download() { curl -fsSL --retry 3 -o "$2" "$1"; }
elif command -v wget >/dev/null; then
  download() { wget -q -O "$2" "$1"; }
else
  fail "neither curl nor wget is there: install one of them"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
if [ -n "$sums" ]; then
  cp "$sums" "$work/SHA256SUMS"
else
  download "$base/SHA256SUMS" "$work/SHA256SUMS" || fail "$base/SHA256SUMS cannot be downloaded: is it the folder of a release?"
fi
# One line of the list: the sum, two spaces, the name.
line=$(grep -E "^[0-9a-f]{64}  hecaton-[0-9A-Za-z.]+-$cpu-linux-gnu\.tar\.gz$" "$work/SHA256SUMS" | head -n 1) || true
[ -n "$line" ] || fail "the release has no build for $cpu: compile it from a checkout"
name=${line#*  }
download "$base/$name" "$work/$name" || fail "$base/$name cannot be downloaded"
(cd "$work" && echo "$line" | sha256sum -c - >/dev/null 2>&1) ||
  fail "$name has not the sum that SHA256SUMS says: it was damaged on the way, or is another file. Nothing was installed"

tar -xzf "$work/$name" -C "$work"
found=$work/${name%.tar.gz}
"$found/bin/hecaton" --version >/dev/null || fail "the program does not run on this system. Nothing was installed"
mkdir -p "$prefix"
(cd "$found" && tar -cf - .) | (cd "$prefix" && tar --no-same-owner -xf -)
echo "installed: $("$prefix/bin/hecaton" --version), $prefix/bin/hecaton"
case :$PATH: in
  *:"$prefix/bin":*) ;;
  *) echo "$prefix/bin is not in PATH: add it, or call the program by its path" ;;
esac
