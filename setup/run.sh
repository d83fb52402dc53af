#!/bin/sh
# run.sh FILE [args…]: sets up, then becomes Node 24 running FILE (a path in this checkout).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
file=$1
shift
sh "$root/setup/setup.sh"
exec "$root/node_modules/.bin/node" "$root/$file" "$@"
