import type { FailureCode, LossCause } from '#src/failure/codes.ts';
import { bootId, sandboxId } from '#src/model/ids.ts';
import { type Epoch, ownerOf, type RolloutKey } from '#src/model/rollout.ts';
import { type Discarded, suspectedIn, suspectedOf } from '#src/failure/verdict.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import { plainFieldsOf } from '#src/protocol/rollout/fields.ts';
import { textOrNull } from './script-runner.ts';
import type { Claimed, Rollout } from './scripts/shapes.ts';
import { type Evidence, Failure } from '#src/failure/failure.ts';
import type { ClaimReply } from '#src/ports/fleet/claims.ts';

/** A record as a script replies it; null for a rollout that is not there. */
export function recordOrNull(reply: Rollout | null | undefined): RolloutRecord | null {
  return reply === null || reply === undefined ? null : recordOf(reply);
}

export function recordOf(reply: Rollout): RolloutRecord {
  const key = reply.key as RolloutKey;
  return {
    ...plainFieldsOf((field) => textOrNull(field === 'discarded' ? undefined : reply[field])),
    key,
    owner: ownerOf(key),
    epoch: epochOf(reply.sandbox, reply.boot),
    discarded: discardedOf(reply),
    barred: textOrNull(reply.barred) as FailureCode | null,
    inFlight: reply.inFlight,
  };
}

export function epochOf(sandbox: string | undefined, boot: string | undefined): Epoch | null {
  const [where, which] = [textOrNull(sandbox), textOrNull(boot)];
  return where === null || which === null ? null : { sandbox: sandboxId(where), boot: bootId(which) };
}

/** The mark of a loss follows from its cause and its evidence, and is not stored. */
function discardedOf({ discarded }: Rollout): Discarded | null {
  if (discarded === undefined) return null;
  const code = discarded.code as FailureCode;
  const cause = textOrNull(discarded.cause) as LossCause | null;
  const evidence = evidenceOf(textOrNull(discarded.evidence));
  return {
    code,
    cause,
    suspected: suspectedIn({ suspected: discarded.suspected ?? null }) ?? suspectedOf(code, cause, evidence),
    evidence,
    atMs: discarded.atMs ?? null,
  };
}

/** With the rest of a rollout's hash this stays under 2 KB. */
const evidenceMaxChars = 1_000;
const valueMaxChars = 240;

/** Evidence as it is stored: long texts are cut, and what does not fit any more is left out and counted. */
export function evidenceText(evidence: Evidence): string {
  const kept: Record<string, Evidence[string]> = {};
  let left = 0;
  for (const [name, value] of Object.entries(evidence)) {
    const cut = typeof value === 'string' ? value.slice(0, valueMaxChars) : value;
    const size = JSON.stringify({ ...kept, [name]: cut }).length;
    if (size > evidenceMaxChars) left += 1;
    else kept[name] = cut;
  }
  return JSON.stringify(left === 0 ? kept : { ...kept, left_out: left });
}

export function evidenceOf(text: string | null): Evidence {
  return text === null ? {} : (JSON.parse(text) as Evidence);
}

/** Decodes `Claimed` of scripts/shapes.ts. */
export function claimReplyOf(reply: Claimed): ClaimReply {
  switch (reply.kind) {
    case 'held':
      return { kind: 'held', rollout: recordOf(reply.rollout) };
    case 'waiting':
      return {
        kind: 'waiting',
        rollout: recordOf(reply.rollout),
        ahead: reply.ahead,
        ...(reply.failing && { failing: { ...reply.failing, code: reply.failing.code as FailureCode } }),
      };
    case 'refused':
      return { kind: 'refused', code: reply.code as FailureCode, rollout: recordOrNull(reply.rollout) };
  }
}

export function unknownRollout(key: string): Failure {
  return new Failure('rollout_unknown', `fleet state has no rollout ${key}`);
}
