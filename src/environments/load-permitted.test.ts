import { join } from 'node:path';
import { expect, test } from 'vitest';
import { environmentFolder, mistakesOf } from '../../test/support/environment-folder.ts';
import { loadPermitted } from './load-permitted.ts';

const shell = `
name: shell
sandbox: { image: host, memory: 512Mi }
tools: { shell: { builtin: shell } }
grader: { kind: text, reference: item.answer }
`;

test('an environment beyond what the operator allows is a mistake, and without a policy it is not', async () => {
  await using policies = await environmentFolder({ 'policy.yaml': 'ceilings: { memory: 256Mi }' });
  await using folder = await environmentFolder({ 'shell.yaml': shell });
  const permitted = loadPermitted(folder.path, join(policies.path, 'policy.yaml'));
  expect(await mistakesOf(folder.path, permitted)).toEqual([expect.stringContaining('memory')]);
  expect((await loadPermitted(folder.path, null)).all()).toHaveLength(1);
});
