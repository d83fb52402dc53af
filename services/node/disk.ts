import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Node has no lock of files that the kernel gives back when a process dies. `flock` has: it holds the lock for as long as the
 * program after it runs, which ends with its stdin, that is with us.
 */
export async function lockFile(path: string, signal: AbortSignal): Promise<() => Promise<void>> {
  const child = spawn('flock', ['--exclusive', path, 'sh', '-c', 'echo held; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  const stop = () => child.kill('SIGKILL');
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    const held = await Promise.race([once(child.stdout, 'data').then(() => true), closed.then(() => false)]);
    if (!held) throw new Error(`the lock ${path} could not be had`);
  } finally {
    signal.removeEventListener('abort', stop);
  }
  return async () => {
    child.stdin.end();
    await closed;
  };
}

/**
 * A folder with files that strangers have named. Their paths may be longer than the kernel takes, and Node's own removal fails at these;
 * `rm` goes from folder to folder.
 */
export async function removeTree(path: string): Promise<void> {
  const child = spawn('rm', ['-rf', '--one-file-system', '--', path], { stdio: 'ignore' });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${path} cannot be removed: rm ended with ${code ?? 'a signal'}`);
}

/** All of a file system. Before a rename, so that no crash leaves a name without its contents. */
export async function writeToDisk(folder: string): Promise<void> {
  const child = spawn('sync', ['--file-system', folder], { stdio: 'ignore' });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`sync --file-system ${folder} ended with ${code}`);
}
