import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mirrorProxyBytes } from '#src/model/mirrors.ts';
import { shellClosingFrom } from '#src/protocol/sandboxd/payload-layout.ts';
import type { Group } from '../cgroups/groups.ts';
import { proxyDescriptors } from './messages.ts';

/** What proxies are made of. */
export type ProxySite = {
  readonly payloadFolder: string;
  /** The proxy's program. */
  readonly program: string;
};

export const proxyLimits = { memoryBytes: mirrorProxyBytes, tasks: 32, cpuMilli: 1_000, cpuShareMilli: 200 };

/** A young generation of the smallest size: an idle proxy shall cost little. */
const flags = ['--max-old-space-size=128', '--max-semi-space-size=1', '--disable-sigusr1'];

const joinScript = `
set -eu
[ "$PPID" = "$NODE_PID" ] || exit 75
IFS='
'
for file in $JOIN_FILES; do echo $$ > "$file"; done
unset IFS
ulimit -n 1024
exec "$@"
`;

/** The kernel's tables of the connections in a sandbox's network. They stay those of this network when the process is gone. */
export type ConnectionTables = { readonly descriptors: readonly number[]; close(): void };

export function openConnectionTables(pid: number): ConnectionTables {
  const descriptors = ['tcp', 'tcp6'].map((name) => openOrNothing(`/proc/${pid}/net/${name}`));
  return { descriptors, close: () => descriptors.forEach((each) => closeSync(each)) };
}

/** A machine without IPv6 has no such table. */
function openOrNothing(file: string): number {
  try {
    return openSync(file, 'r');
  } catch {
    return openSync('/dev/null', 'r');
  }
}

export type ProxyFiles = { readonly tally: number; readonly connections: readonly number[] };

/** Starts the process, in its group and without node's descriptors. It gives up root's rights by itself, once it has read its program. */
export function startProxy(
  { payloadFolder, program }: ProxySite,
  group: Group,
  files: ProxyFiles,
): ChildProcess {
  const shell = shellClosingFrom(payloadFolder, proxyDescriptors.closeFrom);
  const words = ['--pdeathsig', 'KILL', '--no-new-privs', '--', ...shell, '-c', joinScript, 'corral-mirrors'];
  return spawn('setpriv', [...words, process.execPath, ...flags, program], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc', files.tally, ...files.connections],
    env: {
      PATH: process.env['PATH'],
      NODE_PID: String(process.pid),
      JOIN_FILES: group.joinFiles.join('\n'),
    },
  });
}
