import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { findPython } from '#infra/python/find-python.ts';
import { client } from './suites.ts';
import { measureTypescript } from './typescript-bench.ts';
import { virtualEnvironment } from '#infra/python/virtual-environment.ts';

/**
 * Measures and judges nothing: an exec through each client next to the same one by hand, what 512 rollouts take, and first commands
 * of 32 next to as many servers of SWE-ReX. `overhead`: without the last. Returns whether all of it ran.
 */
export async function measure(python: string, installed: string, args: readonly string[]): Promise<boolean> {
  const rest = args.filter((arg) => arg !== 'overhead');
  await measureTypescript();
  if (!play(python, 'bench/overhead.py', installed, rest)) return false;
  if (rest.length < args.length) return true;
  const beside = virtualEnvironment(findPython('3.11'), join(client, 'locks/swerex.txt'));
  return play(beside, 'bench/beside_swerex.py', installed, rest);
}

function play(python: string, script: string, installed: string, args: readonly string[]): boolean {
  const { status } = spawnSync(python, [join(client, script), ...args], {
    cwd: client,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH: installed },
  });
  return status === 0;
}
