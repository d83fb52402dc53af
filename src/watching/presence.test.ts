import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import type { ProcessWord } from '../ports/fleet/watch.ts';
import { tellPresence, RecentVerdicts } from './presence.ts';
import { fakeOwner } from '#test/fakes/rollout-record.ts';
import { callId } from '../model/ids.ts';
import { rolloutKey } from '../model/rollout.ts';
import type { FleetEvent } from '../ports/event-log.ts';
import type { Verdict } from '../failure/verdict.ts';

const self = { kind: 'gateway', host: 'pod-1', pid: 1, version: '0.1.0' } as const;

/** A gateway that has `requests` in hand, and the words that were heard of it. */
function speaking(tell: (heard: ProcessWord[], word: ProcessWord) => Promise<void>) {
  const clock = createFakeClock();
  const leaving = new AbortController();
  const heard: ProcessWord[] = [];
  const troubles: unknown[] = [];
  let requests = 0;
  const done = tellPresence({
    watch: { tell: (_process, word) => tell(heard, word) },
    clock,
    self,
    process: 'p1',
    present: () => ({ state: 'serving', inHand: { requests: (requests += 1) }, atMost: {}, verdicts: {} }),
    onError: (thrown) => troubles.push(thrown),
    signal: leaving.signal,
  });
  return { clock, heard, troubles, done, leave: () => leaving.abort() };
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
  const common = { ...self, atMost: {}, verdicts: {}, knowsDemands: true };
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
