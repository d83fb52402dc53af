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

const environment = 'timed';
const item = { id: 'one', answer: 'right' };

/** A call that starts `script` in the background, and another when the trainer has thought: until `isOver`. */
async function play(trace: string, script: string, isOver: () => Promise<unknown>): Promise<number> {
  const call = (id: string, command: string) =>
    corral.rft.call({ trace, call: id, command, environment, item });
  expect(await call('begin', `(${script}) >/dev/null 2>&1 &`)).toMatchObject({ status: 200 });
  await isOver();
  expect(await call('end', 'true')).toMatchObject({ status: 200 });
  const graded = await corral.rft.grade({ trace, environment, item, sample: { output_text: 'right' } });
  expect(graded.status).toBe(200);
  const { score } = graded.body as { readonly score: number };
  return score;
}

/** A processor's time, however long it takes to get that beside others. */
const worksForMs = 3_000;
const works = `sh -c 'ulimit -t ${worksForMs / 1_000}; while :; do :; done'; echo done > done`;

const statusOfDone = async () => (await corral.native.get('/v1/rollouts/busy/files/done')).status;

test('work in the background is charged, although its calls are short', async () => {
  const score = await play('busy', works, () =>
    expect.poll(statusOfDone, { timeout: 60_000, interval: 1_000 }).toBe(200),
  );
  // Of three seconds; what it works while the test looks for its file is not charged.
  expect(score).toBeLessThan(1 - 0.5);
});

test('a process that waits in the background costs nothing, however long the trainer thinks', async () => {
  const score = await play('idle', 'sleep 60', () => sleep(worksForMs));
  expect(score).toBeGreaterThan(1 - 0.25);
});
