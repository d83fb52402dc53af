import type { FailureCode } from '#src/failure/codes.ts';
import { Failure } from '#src/failure/failure.ts';
import type { ClaimReply } from '#src/ports/fleet/claims.ts';
import { recordOf, recordOrNull } from './record.ts';
import { listOf, numberOf, textOf, type Reply } from './reply.ts';

/** Decodes `{ held | waiting | refused, ahead or code, record }` of lib/presence.lua. */
export function claimReplyOf(reply: Reply): ClaimReply {
  const [answered, extra, record] = listOf(reply);
  const kind = textOf(answered);
  switch (kind) {
    case 'held':
      return { kind, rollout: recordOf(record) };
    case 'waiting':
      return { kind, rollout: recordOf(record), ahead: numberOf(extra) };
    case 'refused':
      return { kind, code: textOf(extra) as FailureCode, rollout: recordOrNull(record) };
    default:
      throw new TypeError(`a claim answered ${JSON.stringify(kind)}`);
  }
}

export function unknownRollout(key: string): Failure {
  return new Failure('rollout_unknown', `fleet state has no rollout ${key}`);
}
