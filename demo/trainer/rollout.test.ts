import { afterEach, describe, expect, it } from 'vitest';
import {
  type FakeRftServer,
  functionOutput,
  rftFailure,
  type Scripted,
  type SeenRequest,
  startFakeRftServer,
} from '#test/fakes/rft-server.ts';
import { actOnce, answer, type Policy, shell } from '../policies/policy.ts';
import { seededRandom } from '../seeded-random.ts';
import { openHttp } from './http.ts';
import type { RolloutEvent } from './record.ts';
import { playRollout } from './rollout.ts';
import { trainingJob } from './training-job.ts';

const item = {
  id: 'task-1',
  repo: 'fastify',
  request: 'change it',
  main: 'repo/lib/reply.js',
  files: ['lib/route.js'],
};

const twoSteps: Policy = {
  name: 'two steps',
  skill: 'for this test',
  async play(_sight, act) {
    await actOnce(act, shell('ls'));
    const outputs = await act([shell('cat a'), shell('cat b')]);
    return answer(outputs);
  },
};

let server: FakeRftServer | undefined;
afterEach(() => server?.close());

const isGrade = (request: SeenRequest) => request.path.endsWith('/grade');
const wellBehaved = (request: SeenRequest): Scripted =>
  isGrade(request) ? { status: 200, body: { score: 0.5 } } : functionOutput(request.body, 'déjà vu');

async function play(script: Parameters<typeof startFakeRftServer>[0]) {
  server = await startFakeRftServer(script);
  const http = openHttp();
  const events: RolloutEvent['kind'][] = [];
  const waitsMs: number[] = [];
  const job = trainingJob({
    gatewayUrl: server.url,
    apiKey: 'key',
    run: 'run-1',
    environment: 'code-edit-planning',
    tools: ['shell'],
  });
  const clock = {
    nowMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    sleep: (durationMs: number) => {
      waitsMs.push(durationMs);
      return Promise.resolve();
    },
  };
  const record = await playRollout(
    { rollout: 'trace_1', item, copy: 0, policy: twoSteps, random: seededRandom('policy') },
    {
      job,
      post: http.post,
      clock,
      random: seededRandom('world'),
      thinkMs: { least: 0, most: 0 },
      startMs: performance.now(),
      tell: (event) => events.push(event.kind),
    },
  );
  await http.close();
  return { record, events, waitsMs, seen: server.seen };
}

describe('a rollout as the trainer plays it', () => {
  it('sends what the platforms send, and takes the score', async () => {
    const { record, seen } = await play(wellBehaved);
    const [first] = seen;
    expect(first?.path).toBe('/rft/code-edit-planning/tools/shell');
    expect(first?.headers).toMatchObject({ authorization: 'Bearer key', 'x-corral-run': 'run-1' });
    expect(first?.body).toMatchObject({
      type: 'function_call',
      name: 'shell',
      arguments: '{"command":"ls"}',
      item,
      trace_id: 'trace_1',
    });
    expect(record.ending).toEqual({ kind: 'scored', score: 0.5 });
    expect(record.calls.map((call) => [call.status, call.outputBytes, call.leaked])).toEqual(
      Array.from({ length: 3 }, () => [200, Buffer.byteLength('déjà vu'), false]),
    );
  });

  it('tells the grader the last message and every call it made', async () => {
    const { seen } = await play(wellBehaved);
    const grade = seen.find(isGrade)?.body;
    const callIds = seen.filter((request) => !isGrade(request)).map((request) => request.body['call_id']);
    expect(grade).toMatchObject({ item, trace_id: 'trace_1' });
    expect(grade?.['sample']).toMatchObject({
      output_text: '{"files":["déjà vu","déjà vu"]}',
      output_json: { files: ['déjà vu', 'déjà vu'] },
      output_tools: callIds.map((id) => ({ id, type: 'function', function: { name: 'shell' } })),
    });
  });

  it('repeats a 5xx and a lost connection under the same call id, waiting longer each time', async () => {
    const { record, seen, waitsMs } = await play((request, earlier) => {
      if (earlier.length === 0) return rftFailure('state_unavailable');
      return earlier.length === 1 ? 'drop' : wellBehaved(request);
    });
    const ids = seen.slice(0, 3).map((request) => request.body['call_id']);
    expect(new Set(ids).size).toBe(1);
    expect(record.calls[0]).toMatchObject({ retries: 2, status: 200 });
    expect(record.ending.kind).toBe('scored');
    expect(waitsMs[1]).toBeGreaterThan(waitsMs[0] ?? Infinity);
  });

  it('discards the rollout after three retries, with the code and cause of the last answer, and asks no grader', async () => {
    const { record, seen, events } = await play((request, earlier) =>
      earlier.length === 0 ? wellBehaved(request) : rftFailure('sandbox_lost', { cause: 'sandboxd_killed' }),
    );
    expect(seen.length).toBe(1 + 2 * 4);
    expect(seen.some(isGrade)).toBe(false);
    expect(record.ending).toMatchObject({
      kind: 'discarded',
      code: 'sandbox_lost',
      cause: 'sandboxd_killed',
      at: 'tool call',
    });
    expect(events.at(-1)).toBe('discarded');
  });

  it('takes a grader that fails four times as a veto, never as a score', async () => {
    const { record, seen } = await play((request) =>
      isGrade(request) ? rftFailure('grader_failed') : wellBehaved(request),
    );
    expect(seen.filter(isGrade)).toHaveLength(4);
    expect(record.ending).toMatchObject({ kind: 'discarded', code: 'grader_failed', at: 'grader' });
  });

  it('discards on a grade without a finite number', async () => {
    const { record } = await play((request) =>
      isGrade(request) ? { status: 200, body: { score: null } } : wellBehaved(request),
    );
    expect(record.ending).toMatchObject({ kind: 'discarded', code: 'unreadable_answer' });
  });

  it('shows a 4xx body to the policy and counts it as a leak', async () => {
    const { record } = await play((request) =>
      isGrade(request) ? wellBehaved(request) : { status: 404, body: { error: 'no such thing' } },
    );
    expect(record.calls.map((call) => [call.status, call.retries, call.leaked])).toEqual(
      Array.from({ length: 3 }, () => [404, 0, true]),
    );
  });

  it('counts an answer for another call as a leak', async () => {
    const { record } = await play((request) =>
      isGrade(request) ? wellBehaved(request) : functionOutput({ call_id: 'call_other' }, 'text'),
    );
    expect(record.calls.every((call) => call.leaked)).toBe(true);
  });

  it('says connection_lost where nobody ever answered', async () => {
    const { record } = await play(() => 'drop');
    expect(record.ending).toMatchObject({ kind: 'discarded', code: 'connection_lost' });
  });
});
