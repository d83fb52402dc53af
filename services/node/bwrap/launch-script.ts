/**
 * What stands between `node` and bubblewrap, run by `sh` and, as root, in a mount namespace of its own: so the sandbox's
 * mounts are never seen by the host and cannot be left behind. Each program that it runs costs a start a millisecond.
 *
 * In the environment: NODE_PID; JOIN_FILES, one a line; FSTAB (empty: no mounts), DISK_FROM, DISK_FOLDER; NAMESPACE (empty:
 * none). The arguments are bubblewrap's command; its options come on descriptor 3, its status goes to descriptor 4, its filter
 * is on 5, and the sandbox's user namespace on 6.
 *
 * No sandbox outlives node: under `setpriv --pdeathsig KILL` the kernel kills this process when node dies, also before
 * bubblewrap asks for that itself. Ids change last, after all that only this host's root may do, and the change clears the
 * death signal; so where they change it is asked for only then, and whether node died before: a launch without node ends there.
 */
export const launchScript = `
set -eu
# Node may have died before the kernel was told to watch it.
[ "$PPID" = "$NODE_PID" ] || exit 75
IFS='
'
# Joined before anything else is made, so that all of it is counted and limited.
for file in $JOIN_FILES; do echo $$ > "$file"; done
if [ -n "$FSTAB" ]; then
  mount --all --fstab "$FSTAB"
  cp -Rp "$DISK_FROM"/* "$DISK_FOLDER"
fi
if [ -z "$NAMESPACE" ]; then
  exec bwrap --args 3 --json-status-fd 4 -- "$@" >&2
fi
exec nsenter --user="$NAMESPACE" --setuid 0 --setgid 0 -- setpriv --pdeathsig KILL -- sh -c '
[ "$PPID" = "$NODE_PID" ] || exit 75
exec bwrap --args 3 --json-status-fd 4 -- "$@" 6<&- >&2
' corral-launch "$@"
`;
