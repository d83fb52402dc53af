import { discardFor } from '../failure/verdict.ts';
import type { Clock } from '../ports/clock.ts';
import type { FleetEvent } from '../ports/event-log.ts';
import type { CallStore } from '../ports/fleet/calls.ts';
import type { LifecycleStore, LossEffect } from '../ports/fleet/lifecycle.ts';
import type { CallSummary, RolloutRecord } from '../ports/fleet/records.ts';

export type EndRecorder = {
  readonly calls: Pick<CallStore, 'list'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly record: (event: FleetEvent) => void;
};

/**
 * The same store, whose losses and expiries also go to the event log: fleet state settles the calls of a lost sandbox
 * and decides the verdict by itself, in a script, so nobody else would write them down. Whose word was news writes,
 * hence each of them once.
 */
export function recordEnds(lifecycle: LifecycleStore, recorder: EndRecorder): LifecycleStore {
  return {
    ...lifecycle,
    lose: async (sandbox, boot, cause, evidence) => {
      const effect = await lifecycle.lose(sandbox, boot, cause, evidence);
      await recordLoss(recorder, effect);
      return effect;
    },
    expireDue: async (limit) => {
      const expired = await lifecycle.expireDue(limit);
      // One that was scored or discarded before has its verdict already.
      const undecided = expired.filter(({ discard }) => discard === 'rollout_expired');
      for (const rollout of undecided) recorder.record(expiryEvent(rollout, recorder.clock.nowMs()));
      return expired;
    },
  };
}

async function recordLoss({ calls, clock, record }: EndRecorder, effect: LossEffect): Promise<void> {
  if (effect.kind !== 'tainted' && effect.kind !== 'broken') return;
  const { rollout } = effect;
  // What it did is done; fleet state that cannot be read just now costs the log a few lines, not the caller its answer.
  const all = await calls.list(rollout.key).catch(() => []);
  const code = effect.kind === 'broken' ? 'sandbox_broken' : 'sandbox_lost';
  for (const summary of all.filter((one) => one.code === code && one.admitted === 'unknown')) {
    record(callEvent(rollout, summary, effect.kind === 'broken' ? 'model' : 'infrastructure', clock.nowMs()));
  }
  if (effect.kind === 'tainted') record(taintEvent(rollout, clock.nowMs()));
}

function callEvent(
  rollout: RolloutRecord,
  summary: CallSummary,
  blame: 'model' | 'infrastructure',
  atMs: number,
): FleetEvent {
  const evidence = { ...rollout.taint?.evidence };
  return {
    kind: 'call_settled',
    ...commonOf(rollout, atMs),
    summary,
    blame,
    epoch: rollout.epoch,
    lastCommand: '',
    evidence,
  };
}

function taintEvent(rollout: RolloutRecord, atMs: number): FleetEvent {
  const { code, cause, evidence } = rollout.taint ?? { code: 'sandbox_lost', cause: null, evidence: {} };
  const verdict = discardFor(code, cause);
  return {
    kind: 'verdict',
    ...commonOf(rollout, atMs),
    verdict,
    score: null,
    suspected: verdict.suspected ?? null,
    evidence,
  };
}

function expiryEvent(rollout: RolloutRecord, atMs: number): FleetEvent {
  return {
    kind: 'verdict',
    ...commonOf(rollout, atMs),
    verdict: { kind: 'discard', code: 'rollout_expired' },
    score: null,
    suspected: null,
    evidence: { closed_by: rollout.closedBy, calls: rollout.calls },
  };
}

function commonOf({ key, environment, version }: RolloutRecord, atMs: number) {
  return { atMs, key, environment, version };
}
