import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FleetAnswer } from '#src/protocol/native/fleet.ts';
import { runCorral } from '../support/command-line.ts';
import { type FleetOfTest, startFleetOfTest } from '../support/fleet.ts';

/** Two rollouts fill it; whoever comes third waits. */
const narrow = `
name: shell
sandbox: { image: host, disk: 64Mi, processes: 64 }
tools: { shell: { builtin: shell, timeout: 30s } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 1, max: 2 }
`;

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: narrow } });
});
afterAll(() => corral.stop());

const top = (...args: readonly string[]) =>
  runCorral(['top', '--url', corral.fleet.gatewayUrl, '--key', corral.fleet.apiKey, ...args]);

async function seen(): Promise<FleetAnswer> {
  const { exitCode, printed } = await top('--json');
  expect(exitCode).toBe(0);
  return JSON.parse(printed) as FleetAnswer;
}

const processesSeen = async () =>
  new Set((await seen()).processes.map(({ kind, state }) => `${kind} ${state}`));

/** Two words of every process, a pass of the controller, and a busy machine. */
const soon = { timeout: 30_000, interval: 250 };

const callIn = (run: string, trace: string) =>
  corral.rft.call({ trace, call: 'c1', command: 'true' }, { 'x-corral-run': run });

test('a burst that waits in line is seen by run, with its place and how long it has been waiting', async () => {
  for (const trace of ['t1', 't2']) expect(await callIn('first', trace)).toMatchObject({ status: 200 });
  const held = [callIn('burst', 'b1'), callIn('burst', 'b2'), callIn('other', 'o1')];

  await expect.poll(async () => (await seen()).waiting.rollouts, soon).toBe(3);
  const { waiting, templates } = await seen();
  const [burst, other] = ['burst', 'other'].map((name) => waiting.runs.find(({ run }) => run === name));
  expect([burst, other]).toMatchObject([
    { environment: 'shell', waiting: 2 },
    { environment: 'shell', waiting: 1 },
  ]);
  expect(new Set([burst?.place, other?.place])).toEqual(new Set([1, 2]));
  expect(waiting.oldest_ms).toBeGreaterThan(0);
  expect(templates).toMatchObject([{ environment: 'shell', held: 2, waiting: 3 }]);
  // A controller's word that is late on a busy machine leaves it unknown for a while.
  await expect.poll(async () => (await seen()).sandboxes.starting_at_most, soon).toBeGreaterThan(0);
  await expect
    .poll(async () => (await seen()).processes.find(({ kind }) => kind === 'gateway')?.in_hand, soon)
    .toMatchObject({ in_line: 3 });
  await expect.poll(processesSeen, soon).toEqual(new Set(['controller serving', 'gateway serving']));

  await Promise.all(['first', 'burst', 'other'].map((run) => corral.native.delete(`/v1/runs/${run}`)));
  await Promise.all(held);
  await expect.poll(async () => (await seen()).waiting, soon).toMatchObject({ rollouts: 0, oldest_ms: null });
});

test('a sandbox that was lost is counted as a failure of infrastructure', async () => {
  await callIn('development', 'lost');
  await corral.killSandboxOf('lost');
  await expect
    .poll(async () => (await seen()).verdicts, soon)
    .toMatchObject({ blame: { infrastructure: 1 }, codes: { sandbox_lost: 1 } });
});

test('a killed controller is shown as silent, next to the controller that replaced it', async () => {
  await corral.killPart('controller');
  await expect
    .poll(processesSeen, soon)
    .toEqual(new Set(['controller serving', 'controller silent', 'gateway serving']));
  const { printed } = await top();
  expect(printed).toMatch(/^controller {2}no heartbeat for \d+ s /m);
});

test('a key that is wrong is told as the caller’s mistake, and nothing of the fleet is shown', async () => {
  const { exitCode, printed, said } = await runCorral([
    'top',
    '--url',
    corral.fleet.gatewayUrl,
    '--key',
    'wrong',
  ]);
  expect([exitCode, printed]).toEqual([2, '']);
  expect(said).toContain('cause: your input');
});
