import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { containerConfig, type Limits, processOf } from './container-config.ts';
import type { Outcome } from './outcome.ts';
import type { Probe, User } from './probes.ts';
import { run } from './run.ts';

type How = Pick<Probe, 'cwd' | 'env' | 'stdin' | 'timeoutS'>;

/** A container with Docker's default settings over a root file system, made by runc, which is what Docker runs. */
export type Container = {
  readonly host: string;
  exec(argv: readonly string[], user: User, how: How, merge: boolean): Promise<Outcome>;
  close(): Promise<void>;
};

/** runc has no event for it. */
const lookEveryMs = 20;

/** The overlay is mounted in a namespace of the container's own, so nothing is left mounted. */
const start =
  'mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/rootfs" && exec runc run --bundle "$2" "$3"';

export async function startContainer(
  root: string,
  work: string,
  limits: Pick<Limits, 'memoryBytes'> & Partial<Limits>,
): Promise<Container> {
  const id = `parity-${randomBytes(5).toString('hex')}`;
  const host = randomBytes(6).toString('hex');
  const folder = join(work, id);
  for (const name of ['upper', 'work', 'rootfs']) await mkdir(join(folder, name), { recursive: true });
  for (const [name, words] of Object.entries(etcOf(host))) await writeFile(join(folder, name), words);
  const cgroup = limits.cgroup === undefined ? null : `${limits.cgroup}/${id}`;
  const config = containerConfig(folder, host, { ...limits, cgroup });
  await writeFile(join(folder, 'config.json'), JSON.stringify(config));
  const main = spawn('unshare', ['--mount', '--', 'sh', '-c', start, 'sh', root, folder, id], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let words = '';
  main.stderr.on('data', (chunk: Buffer) => (words += chunk.toString('utf8')));
  const exited = once(main, 'exit');
  while (!(await run(['runc', 'state', id])).stdout.includes('"running"')) {
    if (main.exitCode !== null) throw new Error(`the container did not start: ${words}`);
    await sleep(lookEveryMs);
  }
  let commands = 0;
  return {
    host,
    exec: async (argv, user, { cwd, env, stdin, timeoutS }, merge) => {
      const file = join(folder, `process-${(commands += 1)}.json`);
      const args = wrapped(argv, stdin !== null, merge);
      await writeFile(file, JSON.stringify({ terminal: false, cwd, args, ...processOf(user, host, env) }));
      const onTimeout = () => run(['runc', 'kill', '--all', id, 'KILL']);
      return withDockersCode(
        await run(['runc', 'exec', '--process', file, id], { stdin, timeoutS, onTimeout }),
      );
    },
    close: async () => {
      await run(['runc', 'delete', '--force', id]);
      await exited;
      // Node's own cannot remove paths that are longer than 4,096 bytes.
      await run(['rm', '-rf', '--', folder]);
    },
  };
}

/** What engines write into every container, for the network that it has: a loopback. */
const etcOf = (host: string) => ({
  hostname: `${host}\n`,
  'resolv.conf': 'nameserver 192.0.2.1\n',
  hosts: `127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\nfe00::0\tip6-localnet\nff00::0\tip6-mcastprefix\nff02::1\tip6-allnodes\nff02::2\tip6-allrouters\n127.0.1.1\t${host}\n`,
});

/** runc gives pipes for all streams. Docker gives /dev/null for stdin, and what a tool shows needs one pipe. */
function wrapped(argv: readonly string[], hasInput: boolean, merge: boolean): readonly string[] {
  const streams = `${hasInput ? '' : ' </dev/null'}${merge ? ' 2>&1' : ''}`;
  const isShell = ['sh', 'bash', 'python3', 'node'].includes(argv[0] ?? '');
  return isShell && streams !== '' ? ['sh', '-c', `exec "$@"${streams}`, 'sh', ...argv] : argv;
}

/** Docker's own codes of a program that could not be started. */
function withDockersCode(outcome: Outcome): Outcome {
  if (outcome.exit !== 255 || !/exec failed|executable file|chdir/.test(outcome.stderr)) return outcome;
  return { ...outcome, exit: /permission denied/i.test(outcome.stderr) ? 126 : 127 };
}
