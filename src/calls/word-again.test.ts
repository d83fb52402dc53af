import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { aCutStream, anAnswer, aStream } from '#test/builders/call-answer.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { repeatedClaim } from '../claiming/claim-request.ts';
import { callId } from '../model/ids.ts';
import type { CallSummary } from '../ports/fleet/records.ts';
import type { CallAnswer, Captured, Ending } from '../protocol/sandboxd/wire.ts';
import {
  brokenResult,
  cancelledUnbegun,
  judgeAnswer,
  refusedResult,
  refusedSettlement,
} from './judge-call.ts';
import { trackedCall } from './plan-call.ts';
import type { Running } from './work.ts';
import { refusedAgain, wordedAgain } from './word-again.ts';

/*
 * A repeat is worded by the gateway that it reaches. During a rolling update, and in each rollout that is open then, that gateway may be
 * of another release than the one that answered first. The environment's own texts belong to its version, which the run keeps. What is left
 * are the words that this code adds, so they stay as they are.
 *
 * If they have to change: keep this wording for calls that were answered with it. Place 12 of a call's record (`answered` in
 * src/adapters/redis/scripts/shapes.ts) is 1 for it; give the next one another number, and give it to calls only while no gateway of the
 * previous release is here.
 */

const endings: readonly Ending[] = [
  { kind: 'exited', exitCode: 0 },
  { kind: 'exited', exitCode: 3 },
  { kind: 'signalled', signal: 'SIGSEGV' },
  { kind: 'timed_out', timeoutMs: 1_500 },
  { kind: 'cancelled' },
  { kind: 'not_started', errno: 'ENOENT', message: 'no such program' },
];

const streams: readonly Captured[] = [
  aStream(),
  aStream('out'),
  aStream('out\n'),
  aStream('one line of many\n'.repeat(300)),
  aStream('\u0000\u001B[1m"\\\t'.repeat(300)),
  aStream('ü€😀'.repeat(700)),
  aStream(`half of a character: \uD83D`),
  aCutStream('first', 'last', 1_000_000),
  aCutStream('first line\n'.repeat(200), 'last line\n'.repeat(200), 5_000),
];

const limits = [1_024, 4_096, 65_536];

function* answers(): Generator<CallAnswer> {
  for (const ending of endings)
    for (const stdout of streams)
      for (const stderr of streams)
        for (const outOfMemoryKills of [0, 1])
          yield anAnswer({ ending, stdout, stderr, evidence: { outOfMemoryKills } });
  const bytes = { head: 'b3V0', tail: '' };
  yield { ...anAnswer({ stdout: aStream('out') }), base64: { stdout: bytes, stderr: bytes } };
  yield { ...anAnswer({ stdout: aCutStream('out', 'end', 100) }), kept: { stdout: 106, stderr: 0 } };
}

function runningWith(outputBytes: number): Pick<Running, 'work' | 'rollout'> {
  const usual = fakeEnvironment();
  const environment = { ...usual, limits: { ...usual.limits, outputBytes } };
  const rollout = fakeRollout();
  const claim = { ...repeatedClaim(rollout, environment, null), face: 'native' as const };
  const known = { key: rollout.key, claim, environment, known: true, keyId: null };
  return { work: trackedCall(known, callId('c1'), 'shell', 'digest'), rollout };
}

/** As fleet state has it after the settlement. */
function settledAs(
  { work }: Pick<Running, 'work'>,
  settlement: ReturnType<typeof judgeAnswer>['settlement'],
) {
  const { outcome, code, admitted, exitCode, durationMs, outputBytes } = settlement;
  const ended = { outcome, code, admitted, exitCode, durationMs, outputBytes };
  const where = { call: work.call, tool: work.tool, state: 'settled', sandbox: null } as const;
  return { ...where, ...ended, waitedMs: 7, startedAtMs: 0 } satisfies CallSummary;
}

test('a repeat is answered with what the call was answered with', () => {
  for (const outputBytes of limits) {
    const running = runningWith(outputBytes);
    for (const answer of answers()) {
      const { result, settlement } = judgeAnswer(running, answer, null);
      expect(wordedAgain(running, settledAs(running, settlement), answer)).toEqual({
        ...result,
        waitedMs: 7,
      });
    }
  }
});

test('a release words an answer as the previous release, so a repeat reads the same during an update', () => {
  const digest = createHash('sha256');
  for (const outputBytes of limits) {
    const running = runningWith(outputBytes);
    for (const answer of answers()) {
      const { settlement } = judgeAnswer(running, answer, null);
      const { output, outcome, code } = wordedAgain(running, settledAs(running, settlement), answer);
      digest.update(JSON.stringify([output, outcome, code]));
    }
  }
  expect(digest.digest('hex')).toBe('307258777c8fa388677d05b9c5d0d950f39691418c2aee5e9468cb19fed71c25');
});

test('a call that ran nothing is answered again by its record', () => {
  const { work } = runningWith(1_024);
  const results = [
    refusedResult(work, 'budget_spent'),
    refusedResult(work, 'time_spent'),
    refusedResult(work, 'too_many_at_once'),
    refusedResult(work, 'unknown_tool', 'no such tool'),
    brokenResult(work, 'out of memory'),
  ];
  const settled = results.map((result) => ({ result, settlement: refusedSettlement(work, result) }));
  for (const { result, settlement } of [...settled, cancelledUnbegun(work)]) {
    const known = { reason: 'out of memory', text: settlement.text ?? null };
    expect(refusedAgain(work, settledAs({ work }, settlement), known)).toEqual({
      ...result,
      waitedMs: 7,
    });
  }
});
