import { spawn } from 'node:child_process';
import type { Groups } from '../cgroups/groups.ts';

/** Ends when node ends it; when node ends without that, it ends what node has left. */
export type Guardian = { stop(): void };

/**
 * It reads until node says a line, or is gone. Then: all members of the groups that there were at that moment, again and again
 * while those that die may have made new ones, until there was nobody for a fifth of a second. That is before a next node has
 * made its first sandbox, which it tries before it serves; builds of data may have the same names then. What the kernel does not
 * let die within ten seconds is left to the next node.
 */
const guardianScript = `
read -r _ && exit 0
set -- "$1"/*/cgroup.procs
looks=0
empty=0
while [ "$empty" -lt 4 ] && [ "$looks" -lt 200 ]; do
  looks=$((looks + 1))
  empty=$((empty + 1))
  for file in "$@"; do
    while read -r pid; do kill -KILL "$pid"; empty=0; done < "$file"
  done
  sleep 0.05
done 2>/dev/null
`;

/**
 * A process beside node, for the moment at which node is killed while sandboxes are starting. bubblewrap's first process
 * inside asks the kernel to die with its parent only after it has mounted everything; until then it would outlive node, and
 * so would the sandbox. In a session of its own, because what kills node's may mean all of it. Where there are no control groups, the
 * next node cleans up.
 */
export function startGuardian({ folder }: Pick<Groups, 'folder'>): Guardian {
  if (folder === null) return { stop: () => undefined };
  const argv = ['-c', guardianScript, 'corral-guardian', folder];
  const env = { PATH: process.env['PATH'] };
  const child = spawn('sh', argv, { env, stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  child.on('error', () => undefined);
  child.stdin.on('error', () => undefined);
  child.unref();
  return { stop: () => void child.stdin.end('\n') };
}
