#!/bin/sh
# make-root.sh FOLDER: makes the root file system that both sides run, Debian 12 with the programs of typical tasks, and fixtures.
# As root; needs mmdebstrap and a Debian mirror; some 2 minutes, 1.2 GB.
set -eu
root=$1
here=$(cd "$(dirname "$0")" && pwd)
mmdebstrap --variant=minbase --mode=root --aptopt='APT::Install-Recommends "false"' \
  --include=bash,coreutils,ca-certificates,python3,python3-pip,python3-venv,python3-pytest,python3-wheel,git,gcc,g++,libc6-dev,make,nodejs,openjdk-17-jdk-headless,sqlite3,curl,procps,util-linux,bsdutils,tmux,perl,jq,strace,gdb,attr,acl,libcap2-bin,iproute2,iputils-ping,netcat-openbsd,socat,expect,file,bc,time,lsof,psmisc,xz-utils,zip,unzip,rsync,patch,less,tzdata,locales,sudo,e2fsprogs,inotify-tools,openssh-client,busybox,gawk,nano,diffutils,findutils \
  bookworm "$root" ${MIRROR:+"$MIRROR"}
sh "$here/fixtures.sh" "$root"
