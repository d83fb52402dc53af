import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

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

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { timed: yaml } });
});
afterAll(() => corral.stop());

const environment = 'timed';
const item = { id: 'one', answer: 'right' };
/** The trainer's own time. */
const thinkingMs = 3_000;

async function play(trace: string, commands: readonly string[]): Promise<number> {
  for (const [index, command] of commands.entries()) {
    if (index > 0) await sleep(thinkingMs);
    const answer = await corral.rft.call({ trace, call: `c${index}`, command, environment, item });
    expect(answer).toMatchObject({ status: 200 });
  }
  const graded = await corral.rft.grade({ trace, environment, item, sample: { output_text: 'right' } });
  expect(graded.status).toBe(200);
  const { score } = graded.body as { readonly score: number };
  return score;
}

const inBackground = (script: string) => `(${script}) >/dev/null 2>&1 &`;

test('work in the background is charged, although its calls are short', async () => {
  const score = await play('busy', [inBackground('while :; do :; done'), 'true', 'true']);
  // Two pauses of three seconds, on a machine that others may use.
  expect(score).toBeLessThan(1 - 2);
});

test('a process that waits in the background costs nothing, however long the trainer thinks', async () => {
  const score = await play('idle', [inBackground('sleep 60'), 'true', 'true']);
  expect(score).toBeGreaterThan(1 - 2);
});
