import type { FailureCode, LossCause } from '#src/failure/codes.ts';
import { bootId, sandboxId } from '#src/model/ids.ts';
import { type Epoch, ownerOf, type RolloutKey } from '#src/model/rollout.ts';
import type { RolloutRecord, Taint } from '#src/ports/fleet/records.ts';
import { type FieldName, plainFieldsOf, recordFields } from '#src/protocol/rollout/fields.ts';
import { evidenceOf } from './evidence.ts';
import { listOf, numberOf, textOf, textOrNull, type Reply } from './reply.ts';

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
