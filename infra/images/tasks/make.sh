#!/bin/sh
# make.sh FOLDER: what images of tests' tasks are made of: base.tar, a layer with Debian 12, Python, pytest and git, and releases of a small
# library with their tests. As root; needs mmdebstrap, pip, a Debian mirror (MIRROR names another) and PyPI; some 2 minutes.
set -eu
folder=$1
mkdir -p "$folder"
# Documents and translations are half of its bytes, and no task reads them.
mmdebstrap --variant=minbase --mode=root --aptopt='APT::Install-Recommends "false"' \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --include=python3,python3-pytest,git,patch,procps bookworm "$folder/base.tar" ${MIRROR:+"$MIRROR"}
cat >"$folder/requirements" <<'END'
parse==1.20.0 --hash=sha256:bd28bae37714b45d5894d77160a16e2be36b64a3b618c81168b3684676aa498b
parse==1.20.1 --hash=sha256:09002ca350ad42e76629995f71f7b518670bcf93548bdde3684fd55d2be51975
parse==1.20.2 --hash=sha256:b41d604d16503c79d81af5165155c0b20f6c8d6c559efa66b4b695c3e5a0a0ce
END
# pip takes one version of a package at a time.
while read -r release; do
  echo "$release" >"$folder/requirement"
  python3 -m pip download --quiet --no-deps --no-binary :all: --require-hashes --dest "$folder" --requirement "$folder/requirement"
done <"$folder/requirements"
for file in "$folder"/*.tar.gz; do tar -xzf "$file" -C "$folder"; done
