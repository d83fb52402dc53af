import { expect, test } from 'vitest';
import type { FleetRollout } from '#demo/fleet/fleet-view.ts';
import type { Script } from '../trainer/play-rollout.ts';
import type { CallTruth, RolloutTruth } from '../trainer/truth.ts';
import { allScored, findLoad, type Seen, showsZeros } from './load-findings.ts';
import type { Played } from './play-burst.ts';

const id = (name: string) => `call_${name.padEnd(16, '0')}`;
const script: Script = {
  rollout: 'r',
  item: { id: 'task' },
  steps: [],
  cancelled: false,
  client: { timeoutMs: 1, jitter: false, freshIds: false },
};

const call = (name: string, change: Partial<CallTruth> = {}): CallTruth => ({
  ids: [id(name)],
  mischief: null,
  sentMs: 100,
  endedMs: 400,
  shown: `${id(name)}\n`,
  leaked: false,
  ...change,
});
const lost = { kind: 'discarded', code: 'sandbox_lost', cause: null, at: 'tool call', message: '' } as const;

function played(rollout: string, change: Partial<RolloutTruth> = {}, isRight = true): Played {
  const ending = { kind: 'scored', score: isRight ? 1 : 0 } as const;
  const truth = { rollout, group: 'task', startedMs: 0, endedMs: 500, calls: [call('a')], ending, ...change };
  return { script, afterMs: 0, opensAnew: false, isRight, truth };
}

const seen = (rollouts: readonly Played[], change: Partial<Seen> = {}): Seen => ({
  planned: rollouts.length,
  played: rollouts,
  tries: rollouts.map(({ truth: { rollout } }) => ({
    rollout,
    sentMs: 0,
    endedMs: 1,
    status: 200,
    blame: null,
    code: null,
  })),
  alone: { right: 1, wrong: 0 },
  runsCommands: true,
  fleet: [],
  ...change,
});

const kindsOf = (found: ReturnType<typeof findLoad>) => found.findings.map(({ kind }) => kind);

test('a wrong answer that scores as it does alone is no finding', () => {
  const found = findLoad(seen([played('r1'), played('r2', {}, false)]));
  expect(found.findings).toEqual([]);
  expect([showsZeros(found), allScored(found)]).toEqual([true, true]);
});

test('a zero where the same answer alone had a one is found, unless scores may differ', () => {
  const zero = played('r1', { ending: { kind: 'scored', score: 0 } });
  expect(kindsOf(findLoad(seen([zero])))).toEqual(['scored_despite_failure']);
  expect(findLoad(seen([zero], { alone: null }))).toMatchObject({
    findings: [],
    notChecked: [expect.stringContaining('--any-score')],
  });
});

test('a discard is told with the blame of its last answer, and is no sin', () => {
  const words = { blame: 'infrastructure', code: 'sandbox_lost' };
  const told = { rollout: 'r1', sentMs: 0, endedMs: 1, status: 503, ...words };
  const gone = played('r1', { calls: [call('a'), call('b', { shown: null })], ending: lost });
  const found = findLoad({ ...seen([gone, played('r2')]), tries: [told] });
  expect(found.discards).toMatchObject([{ blame: 'infrastructure', reason: 'beyond' }]);
  expect(found.answers).toEqual({ '503 sandbox_lost': 1 });
  expect([showsZeros(found), allScored(found), found.otherThan200]).toEqual([true, false, 1]);
});

test('a discard at the very call that only looks like a failure of ours hides the policy’s; after others it does not', () => {
  const wrong = { mischief: 'looks_out_of_memory', shown: null } as const;
  const hidden = played('r1', { calls: [call('a'), call('b', wrong)], ending: lost });
  expect(findLoad(seen([hidden])).verdict.modelFailuresDiscarded).toBe(1);
  const later = [call('a', { mischief: 'looks_out_of_memory' }), call('b', { shown: null })];
  expect(findLoad(seen([played('r1', { calls: later, ending: lost })])).verdict.modelFailuresDiscarded).toBe(
    0,
  );
});

test('first answers are told by how their sandboxes started, from the first call on', () => {
  const fleet: FleetRollout[] = (['warm', 'cold'] as const).map((launchType) => ({
    rollout: launchType,
    verdict: 'scorable',
    code: null,
    cause: null,
    launchType,
    startMs: 1,
  }));
  const calls = [call('a', { endedMs: 900 }), call('b', { sentMs: 200, endedMs: 700 })];
  const rollouts = [played('warm'), played('cold', { calls }), played('unknown')];
  expect(findLoad(seen(rollouts, { fleet })).firstAnswersMs).toEqual({
    warm: [300],
    cold: [600],
    other: [300],
  });
});

test('a tool that leaves no evidence: a leak is found, the rest is said not to be checked', () => {
  const calls = [call('a', { shown: 'a list of files' }), call('b', { shown: '{"error":{}}', leaked: true })];
  const found = findLoad(seen([played('r1', { calls })], { runsCommands: false }));
  expect(kindsOf(found)).toEqual(['shown_infrastructure_text']);
  expect(found.notChecked.join()).toContain('ran twice');
});

test('a fleet that scores every answer alike, and rollouts for which there was no time, are told', () => {
  const zero = played('r1', { ending: { kind: 'scored', score: 0 } });
  const found = findLoad(seen([zero], { planned: 3, alone: { right: 0, wrong: 0 } }));
  expect(found).toMatchObject({
    findings: [],
    notBegun: 2,
    notChecked: [expect.stringContaining('--answer')],
  });
});

test('nothing scored shows nothing', () => {
  expect(showsZeros(findLoad(seen([])))).toBe(false);
});
