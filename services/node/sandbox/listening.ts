import { watch } from 'node:fs';
import { access } from 'node:fs/promises';
import { basename, dirname } from 'node:path';

/** Resolves true when the socket is there, false when the signal aborts first. Never rejects for a missing socket. */
export async function listening(socketPath: string, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  const watcher = watch(dirname(socketPath), { persistent: false });
  try {
    return await new Promise<boolean>((resolve, reject) => {
      watcher.on('change', (_, name) => name === basename(socketPath) && resolve(true));
      watcher.on('error', reject);
      signal.addEventListener('abort', () => resolve(false), { once: true });
      // It may have been made before the watch was.
      access(socketPath).then(
        () => resolve(true),
        () => undefined,
      );
    });
  } finally {
    watcher.close();
  }
}
