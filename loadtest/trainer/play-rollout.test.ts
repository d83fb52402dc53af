import { expect, test } from 'vitest';
import { seededRandom } from '#demo/seeded-random.ts';
import type { Post } from '#demo/trainer/http.ts';
import { isObject, readObject } from '#demo/trainer/reading.ts';
import { trainingJob } from '#demo/trainer/training-job.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import { playRollout, type Script } from './play-rollout.ts';

const jobAt = (host: string) =>
  trainingJob({
    gatewayUrl: `http://${host}`,
    apiKey: 'k',
    run: 'r',
    environment: 'soak',
    tools: ['shell'],
  });
const job = jobAt('one');

const script = (changes: Partial<Script> = {}): Script => ({
  rollout: 'trace_1',
  item: { id: 'task' },
  cancelled: false,
  client: { timeoutMs: 1000, jitter: false, freshIds: false },
  steps: [{ thinkMs: 0, calls: [{ sleepMs: 0, outputBytes: 0, mischief: null }] }],
  ...changes,
});

type Sent = { readonly url: string; readonly body: Readonly<Record<string, unknown>> };

/** Answers with these statuses in order, then 200; a call gets its own id as its output, a grade the score 1. */
async function play(played: Script, statuses: readonly number[] = []) {
  const clock = createFakeClock();
  const sent: Sent[] = [];
  const left = [...statuses];
  const post: Post = async (url, _headers, body) => {
    const parsed = readObject(body) ?? {};
    sent.push({ url, body: parsed });
    const status = left.shift() ?? 200;
    const output = {
      type: 'function_call_output',
      call_id: parsed['call_id'],
      output: `${String(parsed['call_id'])}\n`,
    };
    const answers = url.endsWith('/grade') ? { score: 1 } : output;
    return { status, body: JSON.stringify(status === 200 ? answers : { error: { code: 'sandbox_lost' } }) };
  };
  const world = {
    jobs: [job, jobAt('other')] as const,
    post,
    clock,
    random: seededRandom('play'),
    startMs: 0,
    stopping: new AbortController().signal,
    onCalling: () => undefined,
  };
  const playing = playRollout(played, world);
  // Back-offs are longer than this only in sum; a rollout of one step sleeps at most seven times.
  for (let sleeps = 0; sleeps < 7; sleeps += 1) await clock.advance(10_000);
  return { truth: await playing, sent };
}

const idsOf = (sent: readonly Sent[]) =>
  sent.filter(({ url }) => url.endsWith('/shell')).map(({ body }) => body['call_id']);

test('a 5xx is tried again with the same id, and what the policy is shown is the answer', async () => {
  const { truth, sent } = await play(script(), [503]);
  expect(new Set(idsOf(sent)).size).toBe(1);
  expect(idsOf(sent)).toHaveLength(2);
  expect(truth).toMatchObject({ calls: [{ leaked: false }], ending: { kind: 'scored', score: 1 } });
});

test('a client that numbers its tries knows all their ids', async () => {
  const { truth, sent } = await play(
    script({ client: { timeoutMs: 1000, jitter: true, freshIds: true } }),
    [503, 500],
  );
  expect(truth.calls[0]?.ids).toEqual(idsOf(sent));
  expect(new Set(idsOf(sent)).size).toBe(3);
});

test('a retry goes to the other gateway', async () => {
  const { sent } = await play(script(), [503]);
  const hosts = sent.slice(0, 2).map(({ url }) => new URL(url).host);
  expect(new Set(hosts)).toEqual(new Set(['one', 'other']));
});

test('after three retries the rollout is discarded and no grader is called', async () => {
  const { truth, sent } = await play(script(), [503, 503, 503, 503]);
  expect(truth.ending).toMatchObject({ kind: 'discarded', code: 'sandbox_lost', at: 'tool call' });
  expect(sent).toHaveLength(4);
});

test('a 413 is no error to the platform: the policy reads its body, and that is a leak', async () => {
  const { truth } = await play(script(), [413]);
  expect(truth.calls).toMatchObject([{ leaked: true, shown: expect.stringContaining('error') }]);
});

test('the grader is told the ids that were answered', async () => {
  const { truth, sent } = await play(script());
  const grade = sent.find(({ url }) => url.endsWith('/grade'))?.body['sample'];
  expect(isObject(grade) ? grade['output_tools'] : null).toMatchObject([{ id: truth.calls[0]?.ids[0] }]);
});

test('a rollout that is given up early calls no grader', async () => {
  const { truth, sent } = await play(script({ cancelled: true }));
  expect(truth.ending).toEqual({ kind: 'cancelled' });
  expect(sent).toHaveLength(1);
});
