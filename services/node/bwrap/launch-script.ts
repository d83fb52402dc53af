/**
 * What stands between `node` and bubblewrap, run by `sh` under `setpriv --pdeathsig KILL` (the kernel kills it when
 * node dies, also before bubblewrap asks for that itself) and, as root, in a mount namespace of its own: so the
 * sandbox's disk is never seen by the host and cannot be left behind.
 *
 * In the environment: NODE_PID; JOIN_FILES, one a line; DISK_FOLDER (empty: none), DISK_BYTES, DISK_OWNER.
 * The arguments are bubblewrap's command; its options come on descriptor 3, its status goes to descriptor 4.
 */
export const launchScript = `
set -eu
# Node may have died before the kernel was told to watch it.
[ "$PPID" = "$NODE_PID" ] || exit 75
IFS='
'
# Joined before anything else is made, so that all of it is counted and limited.
for file in $JOIN_FILES; do echo $$ > "$file"; done
if [ -n "$DISK_FOLDER" ]; then
  mount -t tmpfs -o "size=$DISK_BYTES,mode=0711,nosuid,nodev" corral-disk "$DISK_FOLDER"
  # Nobody else's, the grader's neither: it reads as the policy's user what the policy has written.
  install -d -m 0770 -o "$DISK_OWNER" -g "$DISK_OWNER" "$DISK_FOLDER/workspace"
  mkdir -m 1777 "$DISK_FOLDER/tmp"
fi
exec bwrap --args 3 --json-status-fd 4 -- "$@" >&2
`;
