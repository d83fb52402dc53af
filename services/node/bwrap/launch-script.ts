/**
 * What stands between `node` and bubblewrap, run by `sh` under `setpriv --pdeathsig KILL` (the kernel kills it when
 * node dies, also before bubblewrap asks for that itself) and, as root, in a mount namespace of its own: so the
 * sandbox's mounts are never seen by the host and cannot be left behind.
 *
 * In the environment: NODE_PID; JOIN_FILES, one a line; FSTAB (empty: no mounts), DISK_FOLDER, WORKSPACE_OWNER,
 * TEMPORARY_OWNER; NAMESPACE (empty: none). The arguments are bubblewrap's command; its options come on descriptor 3,
 * its status goes to descriptor 4, its filter is on 5, and the sandbox's user namespace on 6.
 *
 * Ids change last, after all that only this host's root may do. The change clears the death signal: it is asked for
 * again, and whether node died in between.
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
  # Nobody else's, the grader's neither: it reads as the policy's user what the policy has written.
  install -d -m 0770 -o "$WORKSPACE_OWNER" -g "$WORKSPACE_OWNER" "$DISK_FOLDER/workspace"
  install -d -m 1777 -o "$TEMPORARY_OWNER" -g "$TEMPORARY_OWNER" "$DISK_FOLDER/tmp"
fi
if [ -z "$NAMESPACE" ]; then
  exec bwrap --args 3 --json-status-fd 4 -- "$@" >&2
fi
exec nsenter --user="$NAMESPACE" --setuid 0 --setgid 0 -- setpriv --pdeathsig KILL -- sh -c '
[ "$PPID" = "$NODE_PID" ] || exit 75
exec bwrap --args 3 --json-status-fd 4 -- "$@" 6<&- >&2
' corral-launch "$@"
`;
