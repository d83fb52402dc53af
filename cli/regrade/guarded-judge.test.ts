import { expect, test } from 'vitest';
import type { KeptLine } from '#src/adapters/event-log/kept-log.ts';
import { rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import type { Judge } from '#src/ports/judge.ts';
import { gradeHere, regrade } from './regrade.ts';

const owner = { tenant: tenantId('lab'), run: runId('run-1'), attempt: 1, role: 'policy' } as const;

const keptOf = (rollout: string): KeptLine => ({
  atMs: 1,
  key: rolloutKey({ ...owner, rollout: rolloutId(rollout) }),
  environment: 'memos',
  version: 'v1',
  item: { id: 'one' },
  score: 0.5,
  toolCalls: 0,
  rollout: { rollout, sample: { output_text: 'mine' }, calls: [], missing: { arguments: 0, outputs: 0 } },
});

const graderWith = (atMost: number) =>
  ({
    kind: 'http',
    url: 'http://judge.example/',
    headers: {},
    timeoutMs: 1_000,
    retries: 0,
    onRefused: 0,
    control: 'none',
    guard: {
      everyGrades: 1,
      item: {},
      canaries: [{ name: 'injected', answer: 'praise', atLeast: null, atMost }],
    },
  }) as const;

const noCommand = () => Promise.reject(new Error('no commands here'));

function depsOf(asked: string[]) {
  const judge: Judge = {
    score: async ({ body }) => {
      const { trace_id } = JSON.parse(body.join('')) as { readonly trace_id: string };
      asked.push(trace_id);
      return { kind: 'scored', score: 0.7 };
    },
  };
  return { judge, secret: () => undefined, runCommand: noCommand };
}

test('a guarded judge is checked once before kept rollouts are graded again', async () => {
  const asked: string[] = [];
  const grader = graderWith(0.8);
  const again = ['a', 'b'].map((name) => {
    const kept = keptOf(name);
    return regrade(kept, () => gradeHere(depsOf(asked), grader, kept));
  });
  expect((await Promise.all(again)).map((each) => each.new)).toEqual([0.7, 0.7]);
  expect(asked.toSorted()).toEqual(['a', 'b', 'canary-injected']);
});

test('one that scores a canary wrongly gives no rollout a new score', async () => {
  const asked: string[] = [];
  const kept = keptOf('a');
  const again = await regrade(kept, () => gradeHere(depsOf(asked), graderWith(0.1), kept));
  expect(again).toMatchObject({ new: null, why: expect.stringContaining('judge_suspect') as string });
  expect(asked).toEqual(['canary-injected']);
});
