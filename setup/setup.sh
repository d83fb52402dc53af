#!/bin/sh
# Makes this checkout ready to run: npm packages (Node 24 among them) and the two programs that Debian provides,
# redis-server and bubblewrap, and, if it can, what fetches images of registries. `setup.sh unit` asks for the packages only, `setup.sh tests` also asks for what only the tests use, `setup.sh deep` for what `npm run test:deep` uses, `setup.sh parity` for what `npm run test:parity` uses, `setup.sh docs` for what `npm run test:docs` uses, `setup.sh gallery` for what `npm run gallery` uses, `setup.sh release` for what `npm run release` uses, `setup.sh release-tests` for its tests, `setup.sh cluster` for what a
# Kubernetes cluster on this machine is made of. One line on stderr for each thing it does; nothing to do is silent and
# quick, because every npm script starts here.
set -eu
cd "$(dirname "$0")/.."

say() { echo "setup: $*" >&2; }
fail() {
  say "$*"
  exit 1
}

# A checksum, not a time: a fresh clone or a changed branch gives every file a new time.
stamp=node_modules/.corral-setup
npm_wanted() { cksum package.json package-lock.json; }

install_npm_packages() {
  if [ -f "$stamp" ] && [ "$(npm_wanted)" = "$(cat "$stamp")" ]; then return; fi
  command -v npm >/dev/null || fail "npm is not on the PATH; install Node 20 or newer with npm, then try again"
  say "installing npm packages into node_modules (the first time takes about a minute)"
  # Warnings are held back: npm warns that the Node that runs it is older than the Node that it installs.
  npm install --no-save --no-fund --no-audit --loglevel=error >&2 ||
    fail "npm install failed (see above); with a network and a reachable npm registry, try again"
  [ -x node_modules/.bin/node ] || fail "Node 24 comes from npm for Linux on x64 and arm64 only; this is $(uname -sm)"
  npm_wanted >"$stamp"
}

# Every process reads it, and reads it ten times as fast as a few files. An update of the package brings its modules back.
bundle_typebox() {
  [ -d node_modules/typebox/build/bundled ] || node_modules/.bin/node infra/bundle-typebox.ts
}

redis_is_new_enough() {
  version=$(redis-server --version 2>/dev/null | sed -n 's/.* v=\([0-9]*\)\..*/\1/p')
  [ "${version:-0}" -ge 7 ]
}

# A dynamic busybox cannot start in the test root that has no C library.
busybox_is_static() {
  busybox=$(command -v busybox) && ! ldd "$busybox" >/dev/null 2>&1
}

missing_packages() {
  redis_is_new_enough || echo redis-server
  command -v bwrap >/dev/null || echo bubblewrap
  case "${1:-}" in
    tests) missing_for_tests ;;
    deep) missing_for_tests && missing_for_slides ;;
    cluster) missing_for_cluster ;;
    parity) missing_for_parity ;;
    gallery) missing_for_gallery && missing_for_slides ;;
    # The site and the console are looked at in a browser.
    docs) missing_browser ;;
    release) missing_for_release ;;
    release-tests) missing_for_release && missing_for_release_tests ;;
  esac
}

missing_browser() {
  command -v chromium >/dev/null || echo chromium
}

# What lays slides out, with its only fonts.
missing_for_slides() {
  missing_browser
  [ -e /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf ] || echo fonts-dejavu-core
}

missing_for_tests() {
  busybox_is_static || echo busybox-static
  # The pages' commands are run as they are shown.
  command -v curl >/dev/null || echo curl
  # Sandboxes of a test see /usr, and attacks on graders are written for what authors write these in.
  [ -x /usr/bin/python3 ] || echo python3
  # What fetches images of registries and decompresses their layers.
  for program in skopeo zstd; do command -v "$program" >/dev/null || echo "$program"; done
  # What terminals are compared with, and what is played in them.
  for program in tmux less; do command -v "$program" >/dev/null || echo "$program"; done
  [ -x /usr/bin/vim.basic ] || echo vim
  [ -x /usr/bin/top ] || echo procps
  # Makes the certificates of tests.
  command -v openssl >/dev/null || echo openssl
  # A registry of images, on the loopback.
  command -v docker-registry >/dev/null || echo docker-registry
  missing_for_tasks
  missing_for_gallery
  missing_compilers
}

# What fast-kernels compiles and measures with.
missing_for_gallery() {
  for program in gcc valgrind; do command -v "$program" >/dev/null || echo "$program"; done
  [ -e /usr/include/stdio.h ] || echo libc6-dev
}

# What makes images of tests' tasks, of Debian's packages and releases of PyPI.
missing_for_tasks() {
  command -v mmdebstrap >/dev/null || echo mmdebstrap
  [ -x /usr/bin/git ] || echo git
  python3 -m pip --version >/dev/null 2>&1 || echo python3-pip
}

# `enter` is compiled for both architectures and compared with the files in the repository.
missing_compilers() {
  command -v "$(uname -m)-linux-gnu-gcc" >/dev/null || echo gcc
  for machine in x86_64 aarch64; do
    command -v "$machine-linux-gnu-gcc" >/dev/null || [ "$(uname -m)" = "$machine" ] || echo "gcc-$machine-linux-gnu" | tr _ -
  done
}

# What a node runs (runc), what the kubelet calls (the tools of the network), and what starts it all.
missing_for_cluster() {
  missing_for_tasks
  busybox_is_static || echo busybox-static
  for program in runc nft iptables ip conntrack ethtool socat openssl curl gcc pkg-config; do
    command -v "$program" >/dev/null || package_of "$program"
  done
  # A newer runc is built with it.
  [ -e /usr/include/seccomp.h ] || echo libseccomp-dev
}

# What runs a container as Docker does, and what makes the root file system that a sandbox and a container share.
missing_for_parity() {
  command -v runc >/dev/null || echo runc
  command -v mmdebstrap >/dev/null || echo mmdebstrap
}

# What unpacks Debian's packages of any architecture, and pushes images.
missing_for_release() {
  command -v mmdebstrap >/dev/null || echo mmdebstrap
  command -v skopeo >/dev/null || echo skopeo
}

# Registries on this machine, what runs an image, and what starts programs of another architecture.
missing_for_release_tests() {
  for program in docker-registry podman runc; do command -v "$program" >/dev/null || echo "$program"; done
  command -v qemu-aarch64-static >/dev/null || echo qemu-user-static
  # What podman recommends and cannot do without: its policy for images.
  [ -e /etc/containers/policy.json ] || echo golang-github-containers-common
  missing_for_tests
}

package_of() {
  case "$1" in
    nft) echo nftables ;;
    ip) echo iproute2 ;;
    *) echo "$1" ;;
  esac
}

# Debian starts a new service at once; ours is private to each fleet, so the package's own must stay off.
keep_services_stopped() {
  policy=/usr/sbin/policy-rc.d
  [ ! -e "$policy" ] || return 0
  trap 'rm -f "$policy"' EXIT
  trap 'exit 130' INT TERM HUP
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
}

install_debian_packages() {
  packages=$(missing_packages "${1:-}" | tr '\n' ' ')
  [ -n "$packages" ] || return 0
  by_hand="install by hand: $packages(redis-server must be 7 or newer), e.g. sudo apt-get install $packages"
  command -v apt-get >/dev/null || fail "this system has no apt-get; $by_hand"
  [ "$(id -u)" = 0 ] || fail "not root, so nothing can be installed; $by_hand"
  say "installing Debian packages: $packages"
  keep_services_stopped
  export DEBIAN_FRONTEND=noninteractive
  log=$(mktemp)
  if ! { apt-get update && apt-get install -y --no-install-recommends $packages; } >"$log" 2>&1 </dev/null; then
    tail -n 15 "$log" >&2
    rm -f "$log"
    fail "apt-get failed (its last lines are above); $by_hand"
  fi
  rm -f "$log"
  left=$(missing_packages "${1:-}" | tr '\n' ' ')
  [ -z "$left" ] || fail "apt-get installed it, but it is too old or cannot be used: $left; $by_hand"
}

# What fetches and unpacks images of registries, which only root's fleets can use. A fleet without it says so and runs all other sandboxes, so
# a machine that cannot install it goes on, and is not asked again before its npm packages change.
install_image_programs() {
  missing=$(for program in skopeo zstd; do command -v "$program" >/dev/null || echo "$program"; done | tr '\n' ' ')
  asked=node_modules/.corral-image-programs
  [ -n "$missing" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 0
  [ "$(cat "$asked" 2>/dev/null)" != "$(npm_wanted)" ] || return 0
  npm_wanted >"$asked"
  say "installing Debian packages for images of registries: $missing"
  keep_services_stopped
  # --no-install-recommends: skopeo's own would bring a whole container engine.
  { DEBIAN_FRONTEND=noninteractive apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } \
    >/dev/null 2>&1 </dev/null || say "they could not be installed, so sandboxes cannot be made from images of registries: apt-get install $missing"
}

# Prometheus, promtool and amtool, out of Debian's packages: unpacked into a folder, for what only the tests of alerts need is
# not installed. Inside a cluster of tests nothing can be fetched any more.
fetch_monitoring_programs() {
  case "${1:-}" in '' | docs | gallery | release*) return 0 ;; esac
  folder=${XDG_CACHE_HOME:-$HOME/.cache}/corral/monitoring
  [ -x "$folder/promtool" ] && [ -x "$folder/amtool" ] || node_modules/.bin/node infra/monitoring/main.ts
}

install_npm_packages
bundle_typebox
[ "${1:-}" != unit ] || exit 0
install_debian_packages "${1:-}"
install_image_programs
fetch_monitoring_programs "${1:-}"
