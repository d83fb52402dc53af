import type { FailureCode, LossCause } from '#src/failure/codes.ts';
import type { Face } from '#src/model/face.ts';
import {
  bootId,
  environmentName,
  environmentVersion,
  itemKey,
  sandboxId,
  templateDigest,
} from '#src/model/ids.ts';
import {
  type Epoch,
  noTags,
  ownerOf,
  type RolloutKey,
  type RolloutState,
  type RolloutTags,
  sandboxAddress,
} from '#src/model/rollout.ts';
import type { RolloutRecord, Taint } from '#src/ports/fleet/records.ts';
import { evidenceOf } from './evidence.ts';
import { listOf, numberOf, numberOrNull, textOf, textOrNull, type Reply } from './reply.ts';

/**
 * Fields of a rollout's hash that make its record, in the order in which scripts answer them. The first four are those
 * by which claimReply() of lib/presence.lua decides.
 */
export const recordFields = [
  'state',
  'template',
  'taintCode',
  'closedBy',
  'face',
  'environment',
  'version',
  'itemKey',
  'wave',
  'generation',
  'sandbox',
  'boot',
  'address',
  'launchType',
  'taintCause',
  'taintEvidence',
  'taintAtMs',
  'broken',
  'calls',
  'placedAtMs',
  'claimedAtMs',
  'activeAtMs',
  'closedAtMs',
  'leaseUntilMs',
  'score',
  'tags',
  'discard',
  'trainerActed',
  'hadRow',
] as const;

/** What `record()` of lib/rollout.lua adds behind the fields. */
const added = ['inFlight', 'key'] as const;

type Field = (typeof recordFields)[number] | (typeof added)[number];
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
  return { key, owner: ownerOf(key), ...originOf(read), ...progressOf(read), ...timesOf(read) };
}

function originOf(read: Read) {
  return {
    face: textOf(read('face')) as Face,
    environment: environmentName(textOf(read('environment'))),
    version: environmentVersion(textOf(read('version'))),
    template: templateDigest(textOf(read('template'))),
    itemKey: itemKey(textOf(read('itemKey'))),
    wave: numberOf(read('wave')),
    tags: tagsOf(textOrNull(read('tags'))),
    hadRow: textOrNull(read('hadRow')) === '1',
  };
}

function progressOf(read: Read) {
  const address = textOrNull(read('address'));
  return {
    state: textOf(read('state')) as RolloutState,
    generation: numberOf(read('generation')),
    epoch: epochOf(read('sandbox'), read('boot')),
    address: address === null ? null : sandboxAddress(address),
    launchType: textOrNull(read('launchType')) as RolloutRecord['launchType'],
    taint: taintOf(read),
    broken: textOrNull(read('broken')),
    calls: numberOf(read('calls')),
    inFlight: numberOf(read('inFlight')),
    score: numberOrNull(read('score')),
    discard: textOrNull(read('discard')) as FailureCode | null,
    closedBy: textOrNull(read('closedBy')),
    trainerActed: textOrNull(read('trainerActed')) !== null,
  };
}

function timesOf(read: Read) {
  return {
    placedAtMs: numberOf(read('placedAtMs')),
    claimedAtMs: numberOrNull(read('claimedAtMs')),
    activeAtMs: numberOrNull(read('activeAtMs')),
    closedAtMs: numberOrNull(read('closedAtMs')),
    leaseUntilMs: numberOf(read('leaseUntilMs')),
  };
}

function tagsOf(text: string | null): RolloutTags {
  return text === null ? noTags : (JSON.parse(text) as RolloutTags);
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
