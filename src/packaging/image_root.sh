#!/bin/sh
# Unpacks packages of Debian, of any processor and without their scripts: the root of the image.
# Usage: image_root.sh ARCHITECTURE FOLDER. The root is FOLDER/root then.
set -eu
arch=$1
cd "$2"
umask 022
here=$PWD
suite=trixie
keys=/usr/share/keyrings/debian-archive-keyring.gpg
# The tools that the service and its steps have in the image of the Dockerfile.
packages="base-files base-passwd bash ca-certificates coreutils dash diffutils findutils git grep gzip
  hostname libc-bin mawk openssh-client procps sed tar tini util-linux"
# What only scripts of packages need, and the parts of git that are written in Perl.
left_out='^(adduser|debconf|git-man|liberror-perl|libperl.*|perl.*)_'
for each in apt-get dpkg-deb; do
  command -v "$each" >/dev/null || { echo "$each is not installed" >&2; exit 3; }
done
if [ ! -r "$keys" ]; then
  echo "Debian's package debian-archive-keyring is not installed" >&2
  exit 3
fi

# The mirrors that this machine uses.
site() {
  apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | sed 's,/*$,,' | grep "/$1\$" | head -n 1
}
mirror=$(site debian)
security=$(site debian-security)
if [ -z "$mirror" ] || [ -z "$security" ]; then
  echo "apt has no source of Debian and of its security updates" >&2
  exit 3
fi

# apt's own state: nothing else of this machine counts.
mkdir -p apt/lists/partial apt/archives/partial apt/state apt/none root
: >apt/status
for each in "$mirror $suite" "$mirror $suite-updates" "$security $suite-security"; do
  echo "deb [signed-by=$keys] $each main"
done >apt/sources.list
cat >apt/conf <<END
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Retries "3";
Dir::State "$here/apt/state";
Dir::State::status "$here/apt/status";
Dir::State::lists "$here/apt/lists";
Dir::Cache "$here/apt";
Dir::Etc::sourcelist "$here/apt/sources.list";
Dir::Etc::sourceparts "$here/apt/none";
Dir::Etc::main "$here/apt/none/conf";
Dir::Etc::parts "$here/apt/none";
Dir::Etc::preferences "$here/apt/none/preferences";
Dir::Etc::preferencesparts "$here/apt/none";
END
export APT_CONFIG="$here/apt/conf" LC_ALL=C
# Without its lists apt knows no package: that is no fault of the release.
apt-get update -qq --error-on=any >&2 || { echo "$mirror or $security cannot be reached" >&2; exit 3; }
# A name that Debian does not have is a fault, and a download that breaks off is none.
# shellcheck disable=SC2086
apt-get install -qq --print-uris --yes $packages >/dev/null
# shellcheck disable=SC2086
apt-get install -qq --download-only --yes $packages >&2 ||
  { echo "packages could not be downloaded from $mirror" >&2; exit 3; }

for each in bin lib sbin; do
  mkdir -p "root/usr/$each"
  ln -s "usr/$each" "root/$each"
done
if [ "$arch" = amd64 ]; then
  mkdir -p root/usr/lib64
  ln -s usr/lib64 root/lib64
fi
mkdir -p root/var/lib/dpkg
for file in apt/archives/*.deb; do
  if echo "${file##*/}" | grep -Eq "$left_out"; then continue; fi
  dpkg-deb --fsys-tarfile "$file" |
    tar -x --keep-directory-symlink --no-same-owner --delay-directory-restore -C root
  # What scanners of images read.
  dpkg-deb --field "$file"
  echo "Status: install ok installed"
  echo
done >root/var/lib/dpkg/status

cd root
find usr/share/doc -type f ! -name copyright -delete
rm -rf usr/share/bash-completion usr/share/bug usr/share/info usr/share/lintian usr/share/locale \
  usr/share/man usr/share/perl5 usr/share/git-core/contrib
find . -type f -perm /6000 -exec chmod a-s {} +
find . -type d -empty -path './usr/share/doc/*' -delete
# What scripts of the packages would have made.
ln -s mawk usr/bin/awk
cat usr/share/ca-certificates/*/*.crt >etc/ssl/certs/ca-certificates.crt
cp usr/share/base-passwd/passwd.master etc/passwd
cp usr/share/base-passwd/group.master etc/group
echo 'deno:*:1993:1993::/home/deno:/usr/sbin/nologin' >>etc/passwd
echo 'deno:*:1993:' >>etc/group
mkdir -p tmp
chmod 1777 tmp
