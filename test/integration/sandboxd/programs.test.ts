import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { callId } from '#src/model/ids.ts';
import {
  aBind,
  aShellCall,
  policyUid,
  startSandboxd,
  type TestSandboxd,
  type TestSandboxdOptions,
} from '#test/support/sandboxd.ts';

const { signal } = new AbortController();

async function started(options?: TestSandboxdOptions): Promise<TestSandboxd> {
  const sandboxd = await startSandboxd(options);
  onTestFinished(() => sandboxd.stop());
  return sandboxd;
}

async function missing({ link, target }: TestSandboxd, programs: readonly string[]) {
  return (await link.bind(target, { ...aBind(), programs }, signal)).missing;
}

function script(path: string, mode: number): void {
  writeFileSync(path, '#!/bin/sh\necho ran\n');
  chmodSync(path, mode);
}

test('a bind tells which programs are not there, by the PATH and the folder that commands have', async () => {
  const sandboxd = await started({ env: { PATH: '/usr/bin:/bin:own' } });
  const { workspace } = sandboxd;
  mkdirSync(join(workspace, 'own'));
  script(join(workspace, 'own', 'mine'), 0o755);
  script(join(workspace, 'here'), 0o755);
  expect(
    await missing(sandboxd, ['sh', '/bin/sh', 'mine', './here', 'here', 'no-such-tool', '/no/such']),
  ).toEqual(['here', 'no-such-tool', '/no/such']);
});

test('what counts is whether the command’s user may run it, whatever sandboxd itself may', async () => {
  const sandboxd = await started();
  const { workspace } = sandboxd;
  script(join(workspace, 'roots'), 0o700);
  script(join(workspace, 'text'), 0o644);
  script(join(workspace, 'users'), 0o700);
  chownSync(join(workspace, 'users'), policyUid, policyUid);
  mkdirSync(join(workspace, 'closed'), { mode: 0o700 });
  script(join(workspace, 'closed', 'inside'), 0o755);
  mkdirSync(join(workspace, 'folder'));
  expect(await missing(sandboxd, ['./roots', './text', './users', './closed/inside', './folder'])).toEqual([
    './roots',
    './text',
    './closed/inside',
    './folder',
  ]);
});

test('after the first call nothing is missing any more: the policy may have removed it', async () => {
  const sandboxd = await started();
  const program = join(sandboxd.workspace, 'tool');
  script(program, 0o755);
  expect(await missing(sandboxd, [program])).toEqual([]);
  const { link, target, workspace } = sandboxd;
  chownSync(workspace, policyUid, policyUid);
  await link.call(target, callId('c1'), aShellCall('rm -f tool'), 10_000, signal);
  expect(await missing(sandboxd, [program])).toEqual([]);
});
