#!/bin/sh
# run.sh [--also KIND] FILE [args…]: sets up, also for KIND (see setup.sh), then becomes Node 24 running FILE (a path in
# this checkout).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/setup/compiled.sh"
kind=
if [ "$1" = --also ]; then
  kind=$2
  shift 2
fi
file=$1
shift
sh "$root/setup/setup.sh" "$kind"
exec "$root/node_modules/.bin/node" "$root/$file" "$@"
