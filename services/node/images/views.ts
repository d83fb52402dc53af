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

type Helper = { readonly child: ChildProcess; readonly lines: Interface; readonly open: Set<string> };

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

export function createViews(folder: string): Views {
  let helper: Helper | null = null;
  let asking: Promise<unknown> = Promise.resolve();

  const start = (): Helper => {
    const child = spawn('unshare', ['--mount', '--', 'sh', '-c', script], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { PATH: process.env['PATH'], BELOW: folder },
    });
    child.stdin.on('error', () => undefined);
    const started = { child, lines: createInterface({ input: child.stdout }), open: new Set<string>() };
    child.once('close', () => {
      if (helper === started) helper = null;
    });
    return started;
  };

  /** One after another: answers come in the order of the questions. `isOpen`: what is so already, or is so after a yes. */
  const ask = (words: string, id: string, isOpen: boolean): Promise<boolean> => {
    const answer = asking.then(async () => {
      helper ??= start();
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

  const askOf = async ({ child, lines }: Helper, words: string): Promise<boolean> => {
    const answeredOnce = new AbortController();
    const { signal } = answeredOnce;
    const answered = once(lines, 'line', { signal }).then(([line]) => line === 'yes');
    const ended = once(lines, 'close', { signal }).then(() => false);
    child.stdin?.write(`${words}\n`);
    // The other one is given up, so that listeners do not add up.
    const answers = [answered, ended].map((each) => each.catch(() => false));
    return Promise.race(answers).finally(() => answeredOnce.abort());
  };

  return {
    open: async (id, lower) => {
      await mkdir(join(folder, 'views', id), { recursive: true });
      const isOpen = await ask(`open ${id} ${lower.join(':')}`, id, true);
      if (!isOpen || helper === null) throw new Error('the layers of an image could not be mounted');
      return join('/proc', String(helper.child.pid), 'root', folder, 'views', id);
    },
    close: async (id) => {
      if (helper !== null) await ask(`close ${id}`, id, false);
    },
    stop: async () => {
      if (helper === null) return;
      const closed = once(helper.child, 'close');
      helper.child.stdin?.end();
      await closed;
    },
  };
}
