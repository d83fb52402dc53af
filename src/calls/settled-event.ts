import { failures } from '../failure/codes.ts';
import type { Blame } from '../failure/codes.ts';
import type { Evidence } from '../failure/failure.ts';
import type { RolloutEvent } from '../ports/event-log.ts';
import type { Settlement } from '../ports/fleet/calls.ts';
import type { CallSummary, RolloutRecord } from '../ports/fleet/records.ts';
import type { Tracked } from './work.ts';

/** The one line that the event log keeps of a settled call. */
export function settledEvent(
  work: Tracked,
  summary: CallSummary,
  rollout: RolloutRecord | null,
  settlement: Settlement,
  atMs: number,
): RolloutEvent {
  return {
    kind: 'call_settled',
    atMs,
    key: work.key,
    keyId: work.keyId,
    environment: work.environment.name,
    version: work.environment.version,
    summary,
    blame: blameOf(summary.code),
    epoch: rollout?.epoch ?? null,
    lastCommand: work.command,
    evidence: { ...answeredBy(settlement, rollout), ...settlement.taint?.evidence },
  };
}

/** An answer from any other life than the one the call went to is refused, so the boot after it is the boot before. */
function answeredBy({ durationMs }: Settlement, rollout: RolloutRecord | null): Evidence {
  const boot = rollout?.epoch?.boot ?? null;
  return durationMs === null || boot === null ? {} : { boot_after: boot };
}

/** What the call had run that its sandbox's loss has settled. */
export function lostCommandEvent(work: Tracked, atMs: number): RolloutEvent {
  const { key, keyId, environment, call, command } = work;
  const { name, version } = environment;
  return { kind: 'lost_command', atMs, key, keyId, environment: name, version, call, command };
}

/** A code of the failure table names its blame there; every other code of a call is the model's; no code, nobody's. */
function blameOf(code: string | null): Blame | null {
  if (code === null) return null;
  return Object.hasOwn(failures, code) ? failures[code as keyof typeof failures].blame : 'model';
}
