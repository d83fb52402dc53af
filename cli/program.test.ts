import { join } from 'node:path';
import { expect, test } from 'vitest';
import { environmentFolder } from '#test/support/environment-folder.ts';
import { exitCodes } from './command-error.ts';
import type { Terminal } from './print/terminal.ts';
import { runCommandLine } from './program.ts';

test('a policy that an environment breaks is told by its line, as the caller’s, before anything starts', async () => {
  await using policies = await environmentFolder({ 'policy.yaml': 'ceilings: { memory: 1Mi }' });
  const remarks: string[] = [];
  const terminal: Terminal = { result: () => undefined, remark: (text) => remarks.push(text), width: 80 };
  const policy = join(policies.path, 'policy.yaml');
  const state = join(policies.path, 'state');
  const exitCode = await runCommandLine(
    ['up', '--policy', policy, '--state', state, '--port', '0'],
    terminal,
  );
  expect(exitCode).toBe(exitCodes.yours);
  expect(remarks.join('\n')).toMatch(/shell\.yaml:\d+: sandbox\.memory .* ceiling.*\n {2}whose: yours/);
});
