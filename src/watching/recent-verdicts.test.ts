import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { fakeOwner } from '#test/fakes/rollout-record.ts';
import { callId } from '../model/ids.ts';
import { rolloutKey } from '../model/rollout.ts';
import type { FleetEvent } from '../ports/event-log.ts';
import type { Verdict } from '../failure/verdict.ts';
import { RecentVerdicts } from './recent-verdicts.ts';

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
