import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import type { ProcessWord } from '../ports/fleet/watch.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { productionTimings, type TimingChanges } from '../model/timings.ts';
import { FleetTimings } from './fleet-timings.ts';
import { tellPresence, RecentVerdicts } from './presence.ts';
import { fakeOwner } from '#test/fakes/rollout-record.ts';
import { callId } from '../model/ids.ts';
import { rolloutKey } from '../model/rollout.ts';
import type { FleetEvent } from '../ports/event-log.ts';
import type { Verdict } from '../failure/verdict.ts';

const self = { kind: 'gateway', host: 'pod-1', pid: 1, version: '0.1.0' } as const;

type Hear = (heard: ProcessWord[], word: ProcessWord) => Promise<void>;

/** A gateway that has `requests` in hand, and the words that were heard of it. `others`: timings that do not fit its own. */
function speaking(tell: Hear, others: (TimingChanges | null)[] = []) {
  const clock = createFakeClock();
  const leaving = new AbortController();
  const heard: ProcessWord[] = [];
  const troubles: unknown[] = [];
  const log = createFakeLog();
  const timings = new FleetTimings({ timings: productionTimings, replacedTimings: null }, log);
  let requests = 0;
  const { done } = tellPresence({
    watch: {
      tell: (_process, word) => tell(heard, word),
      agree: async (_process, word) => {
        const other = others.shift() ?? null;
        if (other === null) await tell(heard, word);
        return other;
      },
    },
    timings,
    clock,
    self,
    process: 'p1',
    present: () => ({ state: 'serving', inHand: { requests: (requests += 1) }, atMost: {}, verdicts: {} }),
    onError: (thrown) => troubles.push(thrown),
    signal: leaving.signal,
  });
  return { clock, heard, troubles, timings, log, done, leave: () => leaving.abort() };
}

const hear = (heard: ProcessWord[], word: ProcessWord) => {
  heard.push(word);
  return Promise.resolve();
};

test('a process says every two seconds what it has in hand then and how long it has run, and at its end that it left', async () => {
  const { clock, heard, done, leave } = speaking(hear);
  await clock.advance(2_000);
  leave();
  await done;
  const common = { ...self, atMost: {}, verdicts: {}, knowsDemands: true, timings: {}, agreed: true };
  expect(heard).toEqual([
    { ...common, state: 'serving', ageMs: 0, inHand: { requests: 1 } },
    { ...common, state: 'serving', ageMs: 2_000, inHand: { requests: 2 } },
    { ...common, state: 'left', ageMs: 2_000, inHand: {} },
  ]);
});

test('words that nobody hears are told of, and it speaks on', async () => {
  let tries = 0;
  const { clock, heard, troubles, done, leave } = speaking((words, word) => {
    tries += 1;
    return tries === 1 ? Promise.reject(new Error('Redis is away')) : hear(words, word);
  });
  await clock.advance(2_000);
  expect([troubles.length, heard.length]).toEqual([1, 1]);
  leave();
  await done;
});

test('a process with other timings than the fleet is not ready and says why, until they fit; then it stays ready', async () => {
  const others = [{ openingMs: 1_000 }, { openingMs: 1_000 }, null, { openingMs: 1_000 }];
  const { clock, heard, timings, log, done, leave } = speaking(hear, others);
  expect(timings.reason()).toContain('not compared');
  await clock.advance(0);
  expect(timings.reason()).toContain('openingMs is 30000 here and 1000 in the fleet');
  expect(timings.reason()).toContain('add "replaces": {"openingMs":1000}');
  await clock.advance(4_000);
  expect(timings.reason()).toBeNull();
  await clock.advance(20_000);
  expect(timings.reason()).toBeNull();
  const unready = expect.stringContaining('openingMs') as string;
  expect(heard.slice(0, 3)).toMatchObject([{ unready }, { unready }, { agreed: true }]);
  expect(heard[0]).not.toHaveProperty('agreed');
  expect(heard.slice(2).some((word) => 'unready' in word)).toBe(false);
  expect(log.lines.map(({ level }) => level)).toEqual(['error', 'info']);
  leave();
  await done;
});

test('a process whose timings cannot be compared is not ready', async () => {
  let isAway = true;
  const { clock, timings, done, leave } = speaking((heard, word) =>
    isAway ? Promise.reject(new Error('Redis is away')) : hear(heard, word),
  );
  await clock.advance(2_000);
  expect(timings.reason()).not.toBeNull();
  isAway = false;
  await clock.advance(2_000);
  expect(timings.reason()).toBeNull();
  leave();
  await done;
});

const common = {
  atMs: 0,
  key: rolloutKey(fakeOwner()),
  keyId: null,
  environment: 'shell',
  version: 'v1',
  evidence: {},
};

const verdictEvent = (verdict: Verdict): FleetEvent => ({
  ...common,
  kind: 'verdict',
  verdict,
  score: null,
  suspected: null,
});

test('verdicts of the last five minutes are counted by code, and older ones are forgotten', async () => {
  const clock = createFakeClock(0);
  const recent = new RecentVerdicts(clock);
  recent.told(verdictEvent({ kind: 'scorable' }));
  recent.told(verdictEvent({ kind: 'discard', code: 'sandbox_lost' }));
  await clock.advance(4 * 60_000);
  recent.told(verdictEvent({ kind: 'discard', code: 'sandbox_lost' }));
  expect(recent.counts()).toEqual({ scorable: 1, sandbox_lost: 2 });
  await clock.advance(60_000);
  expect(recent.counts()).toEqual({ sandbox_lost: 1 });
  await clock.advance(5 * 60_000);
  expect(recent.counts()).toEqual({});
});

test('what else is told to the event log is no verdict', () => {
  const recent = new RecentVerdicts(createFakeClock(0));
  recent.told({ ...common, kind: 'lost_command', call: callId('c1'), command: 'ls' });
  expect(recent.counts()).toEqual({});
});
