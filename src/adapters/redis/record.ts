import type { FailureCode, LossCause } from '#src/failure/codes.ts';
import { bootId, sandboxId } from '#src/model/ids.ts';
import { type Epoch, ownerOf, type RolloutKey } from '#src/model/rollout.ts';
import type { RolloutRecord, Taint } from '#src/ports/fleet/records.ts';
import { type FieldName, plainFieldsOf, recordFields } from '#src/protocol/rollout/fields.ts';
import { listOf, numberOf, textOf, textOrNull, type Reply } from './script-runner.ts';
import { type Evidence, Failure } from '#src/failure/failure.ts';
import type { ClaimReply, FailingStarts } from '#src/ports/fleet/claims.ts';

/** What `record()` of lib/rollout.lua adds behind the fields. */
const added = ['inFlight', 'key'] as const;

type Field = FieldName | (typeof added)[number];
type Read = (field: Field) => Reply | undefined;

const positions = new Map<Field, number>([...recordFields, ...added].map((field, index) => [field, index]));

/** A record as a script answers it; null for a rollout that is not there. */
export function recordOrNull(reply: Reply | undefined): RolloutRecord | null {
  return reply === null || reply === undefined ? null : recordOf(reply);
}

export function recordOf(reply: Reply | undefined): RolloutRecord {
  const values = listOf(reply);
  const read: Read = (field) => values[positions.get(field) ?? -1];
  const key = textOf(read('key')) as RolloutKey;
  return {
    ...plainFieldsOf((field) => textOrNull(read(field))),
    key,
    owner: ownerOf(key),
    epoch: epochOf(read('sandbox'), read('boot')),
    taint: taintOf(read),
    inFlight: numberOf(read('inFlight')),
  };
}

export function epochOf(sandbox: Reply | undefined, boot: Reply | undefined): Epoch | null {
  const [where, which] = [textOrNull(sandbox), textOrNull(boot)];
  return where === null || which === null ? null : { sandbox: sandboxId(where), boot: bootId(which) };
}

function taintOf(read: Read): Taint | null {
  const code = textOrNull(read('taintCode'));
  if (code === null) return null;
  return {
    code: code as FailureCode,
    cause: textOrNull(read('taintCause')) as LossCause | null,
    evidence: evidenceOf(textOrNull(read('taintEvidence'))),
    atMs: numberOf(read('taintAtMs')),
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

/** Decodes `{ held | waiting | refused, ahead or code, record, failure }` of lib/presence.lua. */
export function claimReplyOf(reply: Reply): ClaimReply {
  const [answered, extra, record, failure] = listOf(reply);
  const kind = textOf(answered);
  switch (kind) {
    case 'held':
      return { kind, rollout: recordOf(record) };
    case 'waiting':
      return { kind, rollout: recordOf(record), ahead: numberOf(extra), ...failingOf(failure) };
    case 'refused':
      return { kind, code: textOf(extra) as FailureCode, rollout: recordOrNull(record) };
    default:
      throw new TypeError(`a claim answered ${JSON.stringify(kind)}`);
  }
}

function failingOf(failure: Reply | undefined): { readonly failing?: FailingStarts } {
  if (failure === undefined || failure === null) return {};
  const [code, message, alike, beganMs] = listOf(failure);
  return {
    failing: {
      code: textOf(code) as FailureCode,
      message: textOf(message),
      alike: numberOf(alike),
      beganMs: numberOf(beganMs),
    },
  };
}

export function unknownRollout(key: string): Failure {
  return new Failure('rollout_unknown', `fleet state has no rollout ${key}`);
}
