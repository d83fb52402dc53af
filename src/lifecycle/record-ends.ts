import { blameOf, type FailureCode } from '../failure/codes.ts';
import type { Evidence } from '../failure/failure.ts';
import type { CallId } from '../model/ids.ts';
import { ownerOf } from '../model/rollout.ts';
import { verdictOf } from '../failure/verdict.ts';
import type { Clock } from '../ports/clock.ts';
import type { FleetEvent } from '../ports/event-log.ts';
import type { CallStore, Settlement } from '../ports/fleet/calls.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';
import type { LifecycleStore, LossEffect } from '../ports/fleet/lifecycle.ts';
import type { CallSummary, RolloutRecord } from '../ports/fleet/records.ts';
import type { RecoveryStore } from '../ports/fleet/recovery.ts';
import type { SetupStore } from '../ports/fleet/setup.ts';

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
    refuse: async (key, unmet) => {
      const refused = await lifecycle.refuse(key, unmet);
      if (refused !== null) recorder.record(discardEvent(refused, unmet, recorder.clock.nowMs()));
      return refused;
    },
    void: async (key, reason) => {
      const voided = await lifecycle.void(key, reason);
      if (voided?.changed === true && voided.rollout.discarded !== null) {
        const { evidence } = voided.rollout.discarded;
        recorder.record(discardEvent(voided.rollout, evidence, recorder.clock.nowMs()));
      }
      return voided;
    },
    expireDue: async (limit) => {
      const expired = await lifecycle.expireDue(limit);
      // One that was scored or discarded before has its verdict already.
      const undecided = expired.filter(({ discarded }) => discarded?.code === 'rollout_expired');
      for (const rollout of undecided) {
        const evidence = { closed_by: rollout.closedBy, calls: rollout.calls };
        recorder.record(discardEvent(rollout, evidence, recorder.clock.nowMs()));
      }
      return expired;
    },
  };
}

/**
 * The same store, whose taints go to the event log, too: a call that settles as one may end others with it, and decides
 * the verdict. The settlement itself is written by whoever settles.
 */
export function recordTaints(
  calls: CallStore,
  recorder: Omit<EndRecorder, 'calls'> & { readonly claims: Pick<ClaimStore, 'find'> },
): CallStore {
  return {
    ...calls,
    settle: async (settlement) => {
      const reply = await calls.settle(settlement);
      if (reply.tainted) await recordTaint({ ...recorder, calls }, settlement);
      return reply;
    },
  };
}

/** As with a loss, fleet state that cannot be read just now costs the log a few lines. */
async function recordTaint(
  recorder: EndRecorder & { readonly claims: Pick<ClaimStore, 'find'> },
  { key, call: cause, keyId = null }: Settlement,
): Promise<void> {
  const owner = ownerOf(key);
  const rollout = await recorder.claims.find(owner, owner.attempt).catch(() => null);
  if (rollout === null || rollout.discarded === null) return;
  const { code, evidence } = rollout.discarded;
  await recordEndedWith(recorder, rollout, code, cause);
  recorder.record({ ...discardEvent(rollout, evidence, recorder.clock.nowMs()), keyId });
}

/** The same store, whose losses go to the event log: a rollout may be lost while its fleet state is written back. */
export function recordRecovery(recovery: RecoveryStore, recorder: EndRecorder): RecoveryStore {
  return {
    ...recovery,
    markGone: async (sandbox) => {
      const rollout = await recovery.markGone(sandbox);
      if (rollout !== null) await recordLoss(recorder, { kind: 'tainted', rollout });
      return rollout;
    },
    restoreRollout: async (found) => {
      const restored = await recovery.restoreRollout(found);
      if (typeof restored === 'object')
        await recordLoss(recorder, { kind: 'tainted', rollout: restored.lost });
      return restored;
    },
  };
}

/** The same store, whose losses go to the event log: a replay that differs discards its rollout. */
export function recordReplays(setups: SetupStore, recorder: EndRecorder): SetupStore {
  return {
    replay: async (key, generation, ended) => {
      const replay = await setups.replay(key, generation, ended);
      if (replay.kind === 'lost') await recordLoss(recorder, { kind: 'tainted', rollout: replay.rollout });
      return replay;
    },
  };
}

async function recordLoss(recorder: EndRecorder, effect: LossEffect): Promise<void> {
  if (effect.kind !== 'tainted' && effect.kind !== 'broken') return;
  const { rollout } = effect;
  await recordEndedWith(
    recorder,
    rollout,
    effect.kind === 'broken' ? 'sandbox_broken' : 'sandbox_lost',
    null,
  );
  if (effect.kind === 'broken') return;
  recorder.record(discardEvent(rollout, { ...rollout.discarded?.evidence }, recorder.clock.nowMs()));
}

/** Rollouts that fleet state discarded because a request for them was lost. */
export async function recordLostRequests(
  recorder: EndRecorder,
  rollouts: readonly RolloutRecord[],
): Promise<void> {
  for (const rollout of rollouts) await recordLoss(recorder, { kind: 'tainted', rollout });
}

/** Calls in flight that fleet state settled with the rollout, but for the one whose own settlement did it. */
async function recordEndedWith(
  { calls, clock, record }: EndRecorder,
  rollout: RolloutRecord,
  code: FailureCode | 'sandbox_broken',
  cause: CallId | null,
): Promise<void> {
  // What it did is done; fleet state that cannot be read just now costs the log a few lines, not the caller its answer.
  const all = await calls.list(rollout.key).catch(() => []);
  const ended = all.filter((one) => one.code === code && one.admitted === 'unknown' && one.call !== cause);
  for (const summary of ended) record(callEvent(rollout, summary, clock.nowMs()));
}

function callEvent(rollout: RolloutRecord, summary: CallSummary, atMs: number): FleetEvent {
  const evidence = { ...rollout.discarded?.evidence };
  return {
    kind: 'call_settled',
    ...commonOf(rollout, atMs),
    summary,
    blame: blameOf(summary.code),
    epoch: rollout.epoch,
    lastCommand: '',
    evidence,
  };
}

function discardEvent(rollout: RolloutRecord, evidence: Evidence, atMs: number): FleetEvent {
  return {
    kind: 'verdict',
    ...commonOf(rollout, atMs),
    verdict: verdictOf(rollout),
    score: null,
    suspected: rollout.discarded?.suspected ?? null,
    evidence,
    openedAtMs: rollout.placedAtMs,
  };
}

/** Fleet state did it by itself, so no key did. */
function commonOf({ key, environment, version }: RolloutRecord, atMs: number) {
  return { atMs, key, keyId: null, environment, version };
}
