#!/bin/sh
# test.sh [unit|whole|deep|parity|docs|console] [vitest arguments…]: sets up, then runs the tests of a suite (test/suites.ts); the last line is the
# count, the exit code is vitest's. Without a suite: what the arguments name, of all of them, or `unit` and `whole`.
set -eu
cd "$(dirname "$0")/.."
. setup/compiled.sh

kind=tests
needs_root=
case "${1:-}" in
  '')
    needs_root=yes
    set -- --project unit --project whole --project shared
    ;;
  unit)
    shift
    kind=unit
    set -- --project unit "$@"
    ;;
  whole)
    shift
    needs_root=yes
    # `shared` is the part of it whose files share one fleet.
    set -- --project whole --project shared "$@"
    ;;
  deep)
    shift
    needs_root=yes
    kind=deep
    set -- --project deep "$@"
    ;;
  parity)
    shift
    needs_root=yes
    kind=parity
    set -- --project parity "$@"
    ;;
  console)
    shift
    kind=docs
    set -- --config vitest.console.config.ts "$@"
    ;;
  docs)
    shift
    kind=docs
    set -- --project docs "$@"
    ;;
  *)
    # Words choose among these, and not among what needs a site, a root file system or a release.
    set -- --project '!docs' --project '!parity' --project '!release' "$@"
    ;;
esac

# The sandboxes under test have two user ids, which only root may hand out. Files named one by one may do without.
if [ -n "$needs_root" ] && [ "$(id -u)" != 0 ]; then
  echo "test: the sandbox suites need root (two user ids, cgroups): run 'sudo npm test'," >&2
  echo "test: or what needs no root: 'npm run test:unit', or files by name, e.g. 'npm test -- src cli tools'" >&2
  exit 1
fi

sh setup/setup.sh "$kind"
exec node_modules/.bin/node node_modules/vitest/vitest.mjs run \
  --reporter=default --reporter=./tools/count-reporter.ts "$@"
