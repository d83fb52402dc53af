#!/bin/sh
# test.sh [vitest arguments…]: sets up, then runs the tests; the last line is the count, the exit code is vitest's.
set -eu
cd "$(dirname "$0")/.."
. setup/compiled.sh

# The sandboxes under test have two user ids, which only root may hand out. Files named one by one may do without.
if [ $# = 0 ] && [ "$(id -u)" != 0 ]; then
  echo "test: the sandbox suites need root (two user ids, cgroups): run 'sudo npm test'," >&2
  echo "test: or name what to run without it, e.g. 'npm test -- src cli tools'" >&2
  exit 1
fi

sh setup/setup.sh tests
exec node_modules/.bin/node node_modules/vitest/vitest.mjs run \
  --reporter=default --reporter=./tools/count-reporter.ts "$@"
