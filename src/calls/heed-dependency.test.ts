import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { createFakeRandom } from '#test/fakes/random.ts';
import { fakeCallSummary, fakeRollout } from '#test/fakes/rollout-record.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { callId } from '../model/ids.ts';
import type { CallEvidence } from '../protocol/sandboxd/wire.ts';
import { askProbes, startedAt } from './heed-dependency.ts';

const [sentAtMs, nowMs] = [40_000, 102_500];
const dependency = { exitCodes: [75], probe: 'tcp://index:1', everyMs: 5_000, idempotent: false };

const probed = (beganAtMs: number, failed: string | null) => ({ beganAtMs, endedAtMs: beganAtMs, failed });

/** A call of 2 s that waited for a minute until its command could start, while a probe failed. */
function probesSay(evidence: Partial<CallEvidence>) {
  const { evidence: usual, ...answer } = answering({ ending: { kind: 'exited', exitCode: 75 } });
  const summary = fakeCallSummary({ state: 'dispatched', admitted: 'unknown', startedAtMs: sentAtMs });
  const deps = {
    clock: createFakeClock(),
    random: createFakeRandom(),
    calls: {
      lookup: async () => ({ summary, digest: 'digest', epoch: null, setup: false, repeated: null }),
    },
    dependencies: {
      read: async () => ({
        nowMs,
        results: [probed(60_000, 'answered 503'), probed(98_000, null), probed(nowMs, null)],
        goodAtMs: nowMs,
        load: { ofRun: 1, ofAll: 100 },
        recoveredAtMs: null,
      }),
    },
  };
  const reported = {
    dependency,
    answer: { ...answer, evidence: { ...usual, durationMs: 2_000, ...evidence } },
  };
  return askProbes(deps, { key: fakeRollout().key, call: callId('c1') }, reported, 'now');
}

test('a probe that failed while a call waited for its sandbox says nothing of its command', async () => {
  expect(await probesSay({ endedAgoMs: 500 })).toEqual({ kind: 'good' });
});

test('of a sandbox that does not say when the command ended, all probes since the call was sent count', async () => {
  expect(await probesSay({})).toMatchObject({ kind: 'failed', reason: 'answered 503' });
});

test.each([
  ['its time before the answer', sentAtMs, { endedAgoMs: 500, durationMs: 2_000 }, nowMs - 2_500],
  ['not before it was sent', sentAtMs, { endedAgoMs: 0, durationMs: 90_000 }, sentAtMs],
  ['when it was sent, if its sandbox does not say more', sentAtMs, { durationMs: 2_000 }, sentAtMs],
  ['at a time that Redis has forgotten', null, { endedAgoMs: 0, durationMs: 2_000 }, null],
])('a command has started %s', (_, sentMs, evidence, expected) => {
  const { evidence: usual } = answering({});
  expect(startedAt(sentMs, nowMs, { ...usual, ...evidence })).toBe(expected);
});
