import { watch } from 'node:fs';
import { access, lstat } from 'node:fs/promises';
import { connect } from 'node:net';
import { basename, dirname } from 'node:path';
import type { Clock } from '#src/ports/clock.ts';

/** Between a socket's file and its first accept lies an instant, longer where the sandbox's CPU limit cuts in. */
const redialMs = 5;

/** Resolves true when somebody listens at the socket, false when the signal aborts first. */
export async function listening(socketPath: string, clock: Clock, signal: AbortSignal): Promise<boolean> {
  if (!(await appeared(socketPath, signal))) return false;
  while (!signal.aborted && !(await accepts(socketPath))) await clock.sleep(redialMs, signal);
  return !signal.aborted;
}

/** Resolves true when the file is there, false when the signal aborts first. */
async function appeared(path: string, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  const watcher = watch(dirname(path), { persistent: false });
  try {
    return await new Promise<boolean>((resolve, reject) => {
      watcher.on('change', (_, name) => name === basename(path) && resolve(true));
      watcher.on('error', reject);
      signal.addEventListener('abort', () => resolve(false), { once: true });
      // It may have been made before the watch was.
      access(path).then(
        () => resolve(true),
        () => undefined,
      );
    });
  } finally {
    watcher.close();
  }
}

/** Whether a connection is taken now. */
export function accepts(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => settle(true)).once('error', () => settle(false));
  });
}

/** A socket as the file that it is: another one at the same path is another one. */
export type SocketFile = { readonly path: string; readonly device: number; readonly inode: number };

/** Null when there is no socket itself at the path. */
export async function socketFileAt(path: string): Promise<SocketFile | null> {
  const found = await lstat(path).catch(() => null);
  return found?.isSocket() === true ? { path, device: found.dev, inode: found.ino } : null;
}

export async function isStillThere({ path, device, inode }: SocketFile): Promise<boolean> {
  const now = await socketFileAt(path);
  return now !== null && now.device === device && now.inode === inode;
}
