import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';

/**
 * Where this node reads the files of an image as a whole: its accounts, and what it has where every sandbox has something of its own.
 * An overlay of the layers is mounted in a mount namespace of a small process, so this machine never sees the mount, and it ends with
 * this node. The files are below `/proc/PID/root`.
 */
export type Views = {
  /** The folder with the image's files. `lower`: its layers, the uppermost first, relative to the folder of the store. */
  open(id: string, lower: readonly string[]): Promise<string>;
  close(id: string): Promise<void>;
  stop(): Promise<void>;
};

type Helper = {
  readonly child: ChildProcess;
  readonly lines: Interface;
  readonly open: Set<string>;
  /** Aborted when it has ended, or could not start. */
  readonly gone: AbortSignal;
};

/** A mount takes milliseconds. One that hangs must not keep all later ones waiting. */
const answerTimeoutMs = 30_000;

const script = `
set -eu
cd "$BELOW"
while read -r act id lower; do
  if [ "$act" = open ]; then
    LIBMOUNT_FORCE_MOUNT2=always mount -t overlay -o "ro,nosuid,nodev,noexec,lowerdir=$lower" corral-view "views/$id" 2>/dev/null && echo yes || echo no
  else
    umount "views/$id" 2>/dev/null && echo yes || echo no
  fi
done
`;

/** Its process may have been killed, and another one may have its number. */
export function isMounted(view: string): boolean {
  const [found, above] = [view, dirname(view)].map((path) => statSync(path, { throwIfNoEntry: false })?.dev);
  return found !== undefined && found !== above;
}

async function askOf({ child, lines, gone }: Helper, words: string): Promise<boolean> {
  const signal = AbortSignal.any([gone, AbortSignal.timeout(answerTimeoutMs)]);
  const answered = once(lines, 'line', { signal });
  child.stdin?.write(`${words}\n`);
  try {
    const [line] = await answered;
    return line === 'yes';
  } catch {
    // Its answer would be taken for that to the next question.
    child.kill('SIGKILL');
    return false;
  }
}

export function createViews(folder: string): Views {
  let helper: Helper | null = null;
  let isStopped = false;
  let asking: Promise<unknown> = Promise.resolve();

  const start = (): Helper => {
    const child = spawn('unshare', ['--mount', '--', 'sh', '-c', script], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { PATH: process.env['PATH'], BELOW: folder },
    });
    const ended = new AbortController();
    // First of all: an error without a listener ends node. What hangs may keep the output open for longer than the process lives.
    for (const event of ['error', 'exit']) child.on(event, () => ended.abort());
    child.stdin.on('error', () => undefined);
    const lines = createInterface({ input: child.stdout });
    return { child, lines, open: new Set<string>(), gone: ended.signal };
  };

  /** One after another: answers come in the order of the questions. `isOpen`: what is so already, or is so after a yes. */
  const ask = (words: string, id: string, isOpen: boolean): Promise<boolean> => {
    const answer = asking.then(async () => {
      if (isStopped) throw new Error('it is stopping');
      if (helper === null || helper.gone.aborted) helper = start();
      const running = helper;
      if (running.open.has(id) === isOpen) return true;
      const isDone = await askOf(running, words);
      if (isDone && isOpen) running.open.add(id);
      if (!isOpen) running.open.delete(id);
      return isDone;
    });
    asking = answer.catch(() => undefined);
    return answer;
  };

  return {
    open: async (id, lower) => {
      await mkdir(join(folder, 'views', id), { recursive: true });
      const isOpen = await ask(`open ${id} ${lower.join(':')}`, id, true);
      if (!isOpen || helper === null) throw new Error('the layers of an image could not be mounted');
      return join('/proc', String(helper.child.pid), 'root', folder, 'views', id);
    },
    close: async (id) => {
      if (helper?.gone.aborted === false) await ask(`close ${id}`, id, false);
    },
    stop: async () => {
      isStopped = true;
      await asking;
      if (helper === null || helper.gone.aborted) return;
      const ended = once(helper.gone, 'abort');
      helper.child.stdin?.end();
      await ended;
    },
  };
}
