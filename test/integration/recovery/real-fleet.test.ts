import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

const rollouts = Array.from({ length: 6 }, (_, number) => `trace_${number}`);

let corral: FleetOfTest;
beforeAll(async () => {
  const shell = `
name: shell
sandbox: { image: host, disk: 16Mi, processes: 64 }
tools: { shell: { builtin: shell, timeout: 30s } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 2, max: 12 }
`;
  corral = await startFleetOfTest({ environments: { shell } });
});
afterAll(() => corral.stop());

/** Every execution leaves a line in the sandbox; the answer is how many there are. */
const leavingALine = (call: string, first = '') => `${first} echo ${call} >> evidence; wc -l < evidence`;

const outputOf = (answer: { readonly body: unknown }) => (answer.body as { output?: string }).output?.trim();

test('kill -9 of Redis under running rollouts: they go on where they are, nothing runs twice, and new ones are served', async () => {
  const call = (trace: string, id: string, first?: string) =>
    corral.rft.call({ trace, call: id, command: leavingALine(id, first) });
  const before = await Promise.all(rollouts.map((trace) => call(trace, 'c1')));
  expect(before.map(outputOf)).toEqual(rollouts.map(() => '1'));

  const running = rollouts.map((trace) => call(trace, 'c2', 'sleep 1;'));
  const sandboxes = await Promise.all(rollouts.map((trace) => corral.sandboxOf(trace)));
  await corral.killPart('redis');

  const [fresh, ...during] = await Promise.all([call('trace_new', 'c1'), ...running]);
  expect(fresh).toMatchObject({ status: 200 });
  expect(during.map(outputOf)).toEqual(rollouts.map(() => '2'));

  const after = await Promise.all(rollouts.map((trace) => call(trace, 'c3')));
  expect(after.map(outputOf)).toEqual(rollouts.map(() => '3'));
  const repeats = await Promise.all(rollouts.map((trace) => call(trace, 'c2', 'sleep 1;')));
  expect(repeats.map(outputOf)).toEqual(rollouts.map(() => '2'));
  const same = await Promise.all(rollouts.map((trace) => corral.sandboxOf(trace)));
  // The label with the owner may be written a moment later than the sandbox is found.
  expect(same.map(({ sandbox, pid }) => [sandbox, pid])).toEqual(
    sandboxes.map(({ sandbox, pid }) => [sandbox, pid]),
  );

  const sample = { output_text: '42', output_tools: ['c1', 'c2', 'c3'].map((id) => ({ id })) };
  const grades = await Promise.all(rollouts.map((trace) => corral.rft.grade({ trace, sample })));
  expect(grades.map(({ body }) => body)).toEqual(rollouts.map(() => ({ score: 1 })));
});
