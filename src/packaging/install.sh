#!/bin/sh
# Installs Hooklaunch @VERSION@ for this user: into ~/.local/share/hooklaunch, and the command into ~/.local/bin.
# Another folder in the place of ~/.local: PREFIX=/usr/local sh install.sh
set -eu
# Below /usr/local it is for all users, also those of services.
umask 022
prefix=${PREFIX:-$HOME/.local}
case "$prefix" in /*) ;; *) prefix=$PWD/$prefix ;; esac
case "$(uname -s) $(uname -m)" in
  "Linux x86_64") target=x86_64-unknown-linux-gnu ;;
  "Linux aarch64" | "Linux arm64") target=aarch64-unknown-linux-gnu ;;
  "Darwin x86_64") target=x86_64-apple-darwin ;;
  "Darwin arm64") target=aarch64-apple-darwin ;;
  *)
    echo "install: there is no archive for $(uname -s) on $(uname -m). With Node.js: npx hooklaunch" >&2
    exit 1
    ;;
esac
name=hooklaunch-@VERSION@
file=$name-$target.tar.gz
# What stood there goes: it must be a version of before, and no data folder.
other=$(ls -A "$prefix/share/hooklaunch" 2>/dev/null |
  grep -vxE 'hooklaunch|lib|README\.md|LICENSE|LICENSES\.txt' | head -n 1 || true)
if [ -n "$other" ]; then
  echo "install: $prefix/share/hooklaunch has $other, which is no part of Hooklaunch: move it away first" >&2
  exit 1
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for each in "$file" SHA256SUMS; do
  curl -fsSL --proto-redir =https -o "$folder/$each" "@URL@/$each" || {
    echo "install: cannot download @URL@/$each" >&2
    exit 1
  }
done
cd "$folder"
sum=$(grep " $file\$" SHA256SUMS || true)
if command -v sha256sum >/dev/null; then check=sha256sum; else check="shasum -a 256"; fi
if [ -z "$sum" ] || ! echo "$sum" | $check -c - >/dev/null 2>&1; then
  echo "install: $file is not the file that SHA256SUMS names; nothing is installed" >&2
  exit 1
fi
tar xzf "$file"
mkdir -p "$prefix/share" "$prefix/bin"
# The command of before works until the new one is whole.
rm -rf "$prefix/share/.hooklaunch.new" "$prefix/share/.hooklaunch.old"
mv "$name" "$prefix/share/.hooklaunch.new"
if [ -e "$prefix/share/hooklaunch" ]; then mv "$prefix/share/hooklaunch" "$prefix/share/.hooklaunch.old"; fi
mv "$prefix/share/.hooklaunch.new" "$prefix/share/hooklaunch"
rm -rf "$prefix/share/.hooklaunch.old"
ln -sf ../share/hooklaunch/hooklaunch "$prefix/bin/hooklaunch"
"$prefix/bin/hooklaunch" version
case ":$PATH:" in
  *":$prefix/bin:"*) ;;
  *) echo "Put $prefix/bin on your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
