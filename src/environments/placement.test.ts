import { join } from 'node:path';
import { expect, test } from 'vitest';
import { environmentFolder, mistakesOf } from '#test/support/environment-folder.ts';
import { environmentName } from '../model/ids.ts';
import { loadPermitted } from './load-environments.ts';

const file = (sandbox: string) => `
name: placed
sandbox: { image: example.com/task, ${sandbox} }
tools: { shell: { builtin: shell } }
grader: { kind: text, reference: item.answer }
`;

async function loaded(sandbox: string, policy = '{}') {
  await using policies = await environmentFolder({ 'policy.yaml': policy });
  await using folder = await environmentFolder({ 'placed.yaml': file(sandbox) });
  const permitted = loadPermitted(folder.path, join(policies.path, 'policy.yaml'));
  return await permitted.then(
    (catalog) => catalog.newest(environmentName('placed'))?.template,
    () => mistakesOf(folder.path, permitted),
  );
}

const everything = `runtime_class: gvisor, priority_class: low, node_selector: { pool: big },
  tolerations: [{ key: example.com/spot }, { key: dedicated, value: rollouts, effect: NoSchedule }],
  labels: { team: reasoning }`;

test('what an author says of a place reaches the template, and what is left out is the operator’s', async () => {
  expect(await loaded(everything)).toMatchObject({
    uid: 'separate',
    placement: {
      runtimeClass: 'gvisor',
      priorityClass: 'low',
      nodeSelector: { pool: 'big' },
      tolerations: [
        { key: 'example.com/spot', value: null, effect: null },
        { key: 'dedicated', value: 'rollouts', effect: 'NoSchedule' },
      ],
      labels: { team: 'reasoning' },
    },
  });
  expect(await loaded('cpu: 1')).toMatchObject({ placement: { runtimeClass: null, nodeSelector: {} } });
});

test('sandboxes of two places are not interchangeable', async () => {
  const [here, there] = await Promise.all([
    loaded('node_selector: { pool: a }'),
    loaded('node_selector: { pool: b }'),
  ]);
  expect(here).not.toHaveProperty('digest', (there as { digest: string }).digest);
});

test('one ordinary id cannot be root', async () => {
  expect(await loaded('uid: single, run_as: root')).toEqual([
    expect.stringContaining('sandbox.uid is one ordinary id, and run_as: root asks for another'),
  ]);
});

test.each([
  ['labels: { corral.dev/fleet: mine }', 'are ours'],
  ['labels: { team: "two words" }', 'a text of at most 63 letters'],
  ['node_selector: { "pool=a": b }', 'node labels are such as pool'],
  ['tolerations: [{ key: spot, effect: Never }]', 'NoSchedule, PreferNoSchedule or NoExecute'],
])('%s is a mistake that is explained', async (sandbox, sentence) => {
  expect(await loaded(sandbox)).toEqual([expect.stringContaining(sentence)]);
});

test.each([
  ['runtime_classes: [kata]', 'sandbox.runtime_class is gvisor, and the operator allows: kata'],
  ['priority_classes: []', 'sandbox.priority_class is low, and the operator allows: none'],
  ['node_selectors: [zone]', 'sandbox.node_selector.pool is pool, and the operator allows: zone'],
  [
    'tolerations: ["example.com/*"]',
    'sandbox.tolerations.1 is dedicated, and the operator allows: example.com/*',
  ],
  ['labels: [owner]', 'sandbox.labels.team is team, and the operator allows: owner'],
])('beyond the policy %s, an environment is refused by name and line', async (policy, sentence) => {
  expect(await loaded(everything, policy)).toEqual([expect.stringContaining(sentence)]);
});
