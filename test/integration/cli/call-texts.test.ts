import { hostname } from 'node:os';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { StoryTexts } from '#cli/stories/call-texts.ts';
import { runCorral } from '#test/support/command-line.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

/* What calls asked and returned stays readable while their rollout runs, and after it was discarded. */

const yaml = (name: string, keep: string) => `
name: ${name}
sandbox: { image: host, disk: 64Mi, memory: 256Mi, processes: 64 }
tools: { shell: { builtin: shell } }
grader:
  kind: http
  url: http://127.0.0.1:9/
  on_refused: 0
  headers: { authorization: { secret: JUDGE } }
keep: ${keep}
pool: { min_ready: 1, max: 6 }
`;
const secret = 'the-secret-of-the-judge';

let corral: FleetOfTest;
beforeAll(async () => {
  vi.stubEnv('CORRAL_SECRET_JUDGE', secret);
  corral = await startFleetOfTest({
    environments: { whole: yaml('whole', 'all'), graded: yaml('graded', 'graded') },
  });
});
afterAll(() => corral.stop());

const call = (trace: string, id: string, command: string, environment = 'whole') =>
  corral.rft.call({ trace, call: id, command, environment });

async function textsOf(trace: string): Promise<StoryTexts & { readonly printed: string }> {
  const options = ['rollout', trace, '--texts', '--state', corral.fleet.stateDir];
  const { printed } = await runCorral(options);
  const told = JSON.parse((await runCorral([...options, '--json'])).printed) as { texts: StoryTexts };
  return { ...told.texts, printed };
}

test('a running rollout has the arguments and outputs of its calls, without secrets of its judge', async () => {
  await call('runs', 'c1', 'echo first');
  await call('runs', 'c2', `echo ${secret}`);
  const { calls, printed } = await vi.waitUntil(
    async () => {
      const texts = await textsOf('runs');
      return texts.calls.length === 2 ? texts : null;
    },
    { timeout: 30_000, interval: 100 },
  );
  expect(calls[0]).toMatchObject({
    tool: 'shell',
    arguments: { text: '{"command":"echo first"}' },
    output: { text: expect.stringContaining('first') },
  });
  expect(JSON.stringify(calls)).not.toContain(secret);
  // A secret that was removed is not shown as a text that was cut.
  expect(printed).not.toMatch(/\d of \d/);
});

test('a discarded rollout has the command that its loss cut off, and the name of its node', async () => {
  await call('lost', 'c1', 'echo before');
  const cut = call('lost', 'c2', 'sleep 61');
  await expect
    .poll(async () => (await corral.native.get('/v1/rollouts/lost')).body)
    .toMatchObject({ in_flight: 1 });
  await corral.killSandboxOf('lost');
  await cut;
  await vi.waitFor(async () => expect((await textsOf('lost')).missing).toEqual([]), {
    timeout: 30_000,
    interval: 100,
  });
  const { calls, printed } = await textsOf('lost');
  expect(calls.at(-1)).toMatchObject({ arguments: { text: '{"command":"sleep 61"}' }, output: null });
  expect(printed).toContain('output: not known');
  const view = await corral.native.get('/v1/rollouts/lost');
  expect(view.body).toMatchObject({ taint: { evidence: { node: hostname() } } });
});

test('an environment that keeps graded rollouts alone has no text of one that runs, and the command says so', async () => {
  await call('other', 'c1', 'echo unseen', 'graded');
  const { calls, missing, printed } = await textsOf('other');
  expect({ calls, missing }).toEqual({ calls: [], missing: ['c1'] });
  expect(printed).toContain('1 calls have no kept text');
});
