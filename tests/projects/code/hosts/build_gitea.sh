#!/bin/sh
# Builds Gitea for the tests, without its web pages: build_gitea.sh FOLDER. The program is FOLDER/bin/gitea.
set -eu
folder=$1
version=v1.26.0
export GOFLAGS=-mod=mod
source=$(go mod download -json "code.gitea.io/gitea@$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
copy=$(mktemp -d)
trap 'chmod -R u+w "$copy"; rm -rf "$copy"' EXIT
cp -R "$source/." "$copy"
chmod -R u+w "$copy"
mkdir -p "$folder/gitea" "$folder/bin"
(cd "$copy" && CGO_ENABLED=1 go build -tags 'sqlite sqlite_unlock_notify' -ldflags='-s -w' -o "$folder/gitea/gitea" .)
for part in templates options; do
  rm -rf "${folder:?}/gitea/$part"
  cp -R "$copy/$part" "$folder/gitea/$part"
done
mkdir -p "$folder/gitea/public"
ln -sf ../gitea/gitea "$folder/bin/gitea"
