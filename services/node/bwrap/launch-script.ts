/**
 * What stands between `node` and bubblewrap, run by `sh` and, as root, in a mount namespace of its own: so the sandbox's
 * mounts are never seen by the host and cannot be left behind. Each program that it runs costs a start a millisecond.
 *
 * In the environment: NODE_PID; JOIN_FILES, one a line; FSTAB (empty: no mounts), DISK_FROM, DISK_FOLDER; ID_BASE (empty: no
 * namespace of its own). The arguments are bubblewrap's command; its options come on descriptor 3, its status goes to
 * descriptor 4, and its filter is on 5.
 *
 * Ids change last, after all that only this host's root may do: under the id that is to be the sandbox's root a user namespace
 * is made (with the right to, which not every host gives everybody) and told of by an empty line on 4. Node maps its ids and says
 * so on 6; until then nobody in it is anybody. The namespace then forbids others inside: neither sandboxd nor a command has any
 * use for one, and that takes the capabilities which `--keep-caps` leaves. bubblewrap takes them all away.
 *
 * No sandbox outlives node: under `setpriv --pdeathsig KILL` the kernel kills this process when node dies, also before
 * bubblewrap asks for that itself. Changed ids clear that, a new namespace does not (prctl(2)); so where they change it is asked
 * for with them, and then whether node died before: a launch without node ends there.
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
if [ -z "$ID_BASE" ]; then
  exec bwrap --args 3 --json-status-fd 4 -- "$@" >&2
fi
exec setpriv --reuid "$ID_BASE" --regid "$ID_BASE" --clear-groups --inh-caps +sys_admin --ambient-caps +sys_admin \\
  --pdeathsig KILL -- unshare --user --keep-caps -- sh -c '
set -eu
[ "$PPID" = "$NODE_PID" ] || exit 75
echo >&4
read _ <&6
echo 0 > /proc/sys/user/max_user_namespaces
exec bwrap --args 3 --json-status-fd 4 -- "$@" 6<&- >&2
' corral-launch "$@"
`;
