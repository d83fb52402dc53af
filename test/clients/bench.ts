import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { findPython } from '#infra/python/find-python.ts';
import { client } from './suites.ts';
import { virtualEnvironment } from '#infra/python/virtual-environment.ts';

/**
 * Measures and judges nothing: what the client adds to a call, what 512 rollouts take, and first commands of 32 beside as many
 * servers of SWE-ReX. Returns whether all of it ran.
 */
export function measure(python: string, installed: string, args: readonly string[]): boolean {
  const beside = virtualEnvironment(findPython('3.11'), join(client, 'locks/swerex.txt'));
  return (
    play(python, 'bench/overhead.py', installed, args) &&
    play(beside, 'bench/beside_swerex.py', installed, args)
  );
}

function play(python: string, script: string, installed: string, args: readonly string[]): boolean {
  const { status } = spawnSync(python, [join(client, script), ...args], {
    cwd: client,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH: installed },
  });
  return status === 0;
}
