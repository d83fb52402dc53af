import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { TaskPlace } from '#cli/preflight/task/play-control.ts';
import type { Task } from '#cli/preflight/task/read-task.ts';
import { readImageConfig } from '#services/node/image/image-config.ts';
import { startContainer } from '../parity/container.ts';

const run = promisify(execFile);
const gibibyte = 1024 ** 3;
const mostArchiveBytes = gibibyte;
const defaultMemoryBytes = 2 * gibibyte;
const transferS = 120;

/** A busy machine slows both places alike: sandboxes are below this control group too. */
const besideSandboxes = '/corral';

export type ContainerPlace = TaskPlace & { close(): Promise<void> };

/** A fresh container over a built root, without a network, with the image's WORKDIR and ENV. `work`: a folder for its own files. */
export async function openContainer(task: Task, root: string, work: string): Promise<ContainerPlace> {
  const image = readImageConfig(root);
  const memoryBytes = task.requires.memory_bytes ?? defaultMemoryBytes;
  const container = await startContainer(root, work, { memoryBytes, cgroup: besideSandboxes });
  const cwd = task.requires.workdir ?? image?.workdir ?? '/';
  const exec = (argv: readonly string[], how: { timeoutS: number; stdin?: string; env?: Variables }) =>
    container.exec(argv, 'root', { cwd, stdin: null, ...how, env: { ...image?.env, ...how.env } }, false);
  return {
    run: async ({ command, timeoutS, env }) => {
      const ended = await exec(['bash', '-c', command], { timeoutS, env: { ...task.env, ...env } });
      if (ended.timedOut) return null;
      return { exit_code: ended.exit, timed_out: false, stdout: ended.stdout, stderr: ended.stderr };
    },
    upload: async (from, to) => {
      const stdin = await packInBase64(from);
      const ended = await exec(['sh', '-c', unpack, 'sh', to], { timeoutS: transferS, stdin });
      if (ended.exit !== 0) throw new Error(`${to} was not written: ${ended.stderr}`);
    },
    read: async (path) => {
      const ended = await exec(['cat', '--', path], { timeoutS: transferS });
      return ended.exit === 0 ? ended.stdout : null;
    },
    close: () => container.close(),
  };
}

type Variables = Readonly<Record<string, string>>;

const unpack = 'mkdir -p "$1" && base64 -d | tar -xf - --no-same-owner -C "$1"';

async function packInBase64(folder: string): Promise<string> {
  const options = { encoding: 'buffer', maxBuffer: mostArchiveBytes } as const;
  const { stdout } = await run('tar', ['--create', '--file=-', `--directory=${folder}`, '.'], options);
  return stdout.toString('base64');
}
