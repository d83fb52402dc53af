import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type JoinedFleet, joinSharedFleet } from '#test/support/shared-fleet.ts';

/* A penalty for time charges work in the background as the work that a call waits for, and never the trainer's own time. */

const yaml = `
name: timed
sandbox: { image: host, disk: 64Mi, processes: 64 }
tools: { shell: { builtin: shell, timeout: 30s } }
grader:
  kind: penalty
  free_calls: 100
  each: 0
  floor: -100
  time: { free: 0s, per: 1s, each: 1 }
  grader: { kind: text, match: exact, reference: item.answer }
pool: { min_ready: 1, max: 4 }
`;

let corral: JoinedFleet;
beforeAll(async () => {
  corral = await joinSharedFleet({ timed: yaml });
});
afterAll(() => corral.leave());

type Detail = { readonly score: number; readonly time_ms: number; readonly background_ms: number };

/** What a penalty charges for `script`, which a call starts in the background; the next call comes when `isOver`. */
async function chargedFor(rollout: string, script: string, isOver: () => Promise<unknown>): Promise<Detail> {
  await corral.native.open(rollout, 'timed', { id: 'one', answer: 'right' });
  const begun = await corral.native.shell(rollout, 'begin', `(${script}) >/dev/null 2>&1 &`);
  expect(begun).toMatchObject({ status: 200 });
  await isOver();
  expect(await corral.native.shell(rollout, 'end', 'true')).toMatchObject({ status: 200 });
  const sample = { output_text: 'right' };
  const { status, body } = await corral.native.post(`/v1/rollouts/${rollout}/grade`, { sample });
  expect(status).toBe(200);
  return (body as { readonly detail: Detail }).detail;
}

/** A processor's time, however long it takes to get that next to others. */
const worksForMs = 3_000;
const works = `sh -c 'ulimit -t ${worksForMs / 1_000}; while :; do :; done'; echo done > done`;

const statusOfDone = async () => (await corral.native.get('/v1/rollouts/busy/files/done')).status;

test('work in the background is charged, although its calls are short', async () => {
  const { score, time_ms, background_ms } = await chargedFor('busy', works, () =>
    expect.poll(statusOfDone, { timeout: 100_000, interval: 1_000 }).toBe(200),
  );
  // Of three seconds; what it works while the test looks for its file is not charged.
  expect(background_ms).toBeGreaterThan(500);
  expect(time_ms).toBeGreaterThan(background_ms);
  expect(score).toBeCloseTo(1 - time_ms / 1_000);
});

test('a process that waits in the background costs nothing, however long the trainer thinks', async () => {
  const { background_ms } = await chargedFor('idle', 'sleep 60', () => sleep(worksForMs));
  expect(background_ms).toBeLessThan(250);
});
