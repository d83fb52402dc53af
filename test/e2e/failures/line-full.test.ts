import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectFailure, toldNothingRan } from '#test/support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

/** No sandbox is ever started, so whoever opens a rollout stands in line. */
const none = `
name: shell
sandbox: { image: host, disk: 16Mi, prepare: [[sleep, "600"]], start_timeout: 10m }
tools: { shell: { builtin: shell, timeout: 30s } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 0, max: 1 }
`;

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: none }, timings: { openingMs: 3_000 } });
});
afterAll(() => corral.stop());

const full = { ...toldNothingRan, code: 'line_full' } as const;
/** Waiting rollouts of one run. */
const bound = 2_000;
const together = 50;

test('a run whose line is full: 503, may be sent again later, and another run still stands in line', async () => {
  for (let begun = 0; begun < bound; begun += together) {
    const names = Array.from({ length: together }, (_, index) => `r${begun + index}`);
    const opened = await Promise.all(names.map((name) => corral.native.open(name)));
    expect(opened.map(({ status }) => status)).toEqual(names.map(() => 201));
  }
  expectFailure(await corral.native.open('last'), { ...full, rollout_id: 'last' });
  const inOther = { 'x-corral-run': 'other' };
  const opening = { rollout_id: 'first', environment: 'shell', item: { answer: '42' } };
  expect(await corral.native.post('/v1/rollouts', opening, inOther)).toMatchObject({ status: 201 });
});
