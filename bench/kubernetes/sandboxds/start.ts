import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { PodSettings } from '#src/model/cluster.ts';

/** Starts the process that answers for every pod of a fleet; resolves when it does. */
export async function startSandboxds(
  kubeconfig: string,
  { namespace, fleet, port }: PodSettings,
): Promise<AsyncDisposable> {
  const main = join(import.meta.dirname, 'main.ts');
  const child = spawn(process.execPath, [main, namespace, fleet, String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, KUBECONFIG: kubeconfig },
  });
  const exited = once(child, 'exit');
  const listening = once(createInterface(child.stdout), 'line');
  await Promise.race([
    listening,
    exited.then(() => Promise.reject(new Error('the sandboxds did not start'))),
  ]);
  return {
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
