#!/bin/sh
# Makes the images of the tests of what this machine has, as archives that containerd imports.
# Usage: images.sh FOLDER
#   test/pause   the container that holds a pod
#   test/agent   busybox and curl, as the agent needs them
#   test/tools   busybox alone
#   test/shell   a shell, and nothing else
#   test/empty   not even that
set -eu
out=$1
mkdir -p "$out"

# Copies a program with the libraries that it needs into the folder "root".
copy() {
  cp -L "$1" "root$2"
  { ldd "$1" 2>/dev/null || :; } | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "root${library%/*}"
    cp -L "$library" "root$library"
  done
}

fresh() {
  rm -rf root
  mkdir -p root/bin root/etc root/root root/tmp root/usr/bin
  chmod 1777 root/tmp
}

add_busybox() {
  copy "$(command -v busybox)" /bin/busybox
  for applet in $(busybox --list); do
    if [ "$applet" != busybox ]; then ln -sf busybox "root/bin/$applet"; fi
  done
}

sum() { sha256sum "$1" | cut -d ' ' -f 1; }

# image NAME [ENTRYPOINT]: packs the folder "root". The entrypoint is JSON.
image() {
  rm -rf image
  mkdir image
  tar -cf image/layer.tar -C root --owner=0 --group=0 .
  printf '{"architecture":"%s","os":"linux","config":{"Entrypoint":%s,"Env":["PATH=/bin:/usr/bin"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
    "$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')" "${2:-null}" "$(sum image/layer.tar)" >image/config
  config=$(sum image/config).json
  mv image/config "image/$config"
  printf '[{"Config":"%s","RepoTags":["docker.io/test/%s:1"],"Layers":["layer.tar"]}]' "$config" "$1" \
    >image/manifest.json
  tar -cf "$out/$1.tar" -C image .
}

cd "$(mktemp -d)"
fresh
add_busybox
image tools
copy "$(command -v curl)" /bin/curl
image agent
fresh
copy "$(command -v busybox)" /bin/busybox
image pause '["/bin/busybox","sleep","2147483647"]'
fresh
copy "$(command -v dash)" /bin/sh
image shell
rm root/bin/sh
image empty
rm -rf "$PWD"
