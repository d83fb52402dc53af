import { createHash } from 'node:crypto';
import { rolloutKey, sandboxAddress } from '#src/model/rollout.ts';
import type { ClaimReply, ClaimRequest, ClaimStore } from '#src/ports/fleet/claims.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import { claimedFields, type FieldValues, textOf } from '#src/protocol/rollout/fields.ts';
import { claimReplyOf, epochOf } from './record.ts';
import { type RunScript, scriptsOver } from './script-runner.ts';
import type { claim } from './scripts/claim.ts';
import type { Static } from 'typebox';

/** Keeps one script under two milliseconds, and lets Redis work on one portion while we read the one before. */
const mostTogether = 32;

type Portion = {
  readonly requests: ClaimRequest[];
  readonly replies: Promise<readonly (ClaimReply | null)[]>;
  readonly send: () => void;
};

/**
 * Sends the claims of one turn of the event loop together. A burst of claims is what this product is for, and half of
 * what a claim costs Redis is the same for all of them. Each is still one round trip; a full portion waits for nothing,
 * so that Redis works while we go on, and a single claim for nothing but the end of the turn.
 */
export function joinClaims(run: RunScript, rowBytesOfTenant: number): ClaimStore['claim'] {
  let gathering: Portion | null = null;
  const gather = (): Portion => {
    const requests: ClaimRequest[] = [];
    const { promise: replies, resolve } = Promise.withResolvers<readonly (ClaimReply | null)[]>();
    const send = () => {
      // Full before the end of its turn: it is on its way.
      if (gathering?.requests !== requests) return;
      gathering = null;
      resolve(ask(run, rowBytesOfTenant, requests));
    };
    setImmediate(send);
    return { requests, replies, send };
  };
  return async (request) => {
    gathering ??= gather();
    const { requests, replies, send } = gathering;
    const position = requests.push(request) - 1;
    if (requests.length === mostTogether) send();
    const reply = (await replies)[position] ?? (await ask(run, rowBytesOfTenant, [request]))[0];
    if (reply === undefined || reply === null) throw new TypeError('a claim was not answered');
    return reply;
  };
}

/** Null: to be asked for again by itself. */
async function ask(
  run: RunScript,
  rowBytesOfTenant: number,
  requests: readonly ClaimRequest[],
): Promise<readonly (ClaimReply | null)[]> {
  const { kinds, rows, claims } = byKind(requests);
  const asked = { rowBytesMax: rowBytesOfTenant, kinds, claims };
  const { reply } = await scriptsOver(run).exchange('claim', asked, ...rows);
  return requests.map((request, index) => replyTo(request, reply[index]));
}

type Replied = Static<typeof claim.claim.reply>[number];
type Created = Extract<Replied, { readonly kind: 'created' }>;

function replyTo(request: ClaimRequest, reply: Replied | undefined): ClaimReply | null {
  if (reply === undefined) throw new TypeError('a claim was not answered');
  if (reply.kind === 'apart') return null;
  if (reply.kind !== 'created') return claimReplyOf(reply);
  return { kind: 'held', rollout: createdRecord(request, reply) };
}

/** A new rollout that had its sandbox at once: what was asked for, and what it was given. */
function createdRecord(request: ClaimRequest, created: Created): RolloutRecord {
  const { wave, atMs, sandbox, boot, address } = created;
  const { idleMs, hardLifeMs: _, recordOnly: _never, chosen: _chosen, turn: _turn, item, ...asked } = request;
  return {
    ...asked,
    key: rolloutKey(request.owner),
    hadRow: item !== null,
    state: 'claimed',
    wave,
    generation: 1,
    epoch: epochOf(sandbox, boot),
    address: sandboxAddress(address),
    launchType: 'warm',
    idsApartIn: null,
    heals: 0,
    healing: null,
    verdict: 'open',
    discarded: null,
    barred: null,
    broken: null,
    calls: 0,
    inFlight: 0,
    placedAtMs: atMs,
    claimedAtMs: atMs,
    activeAtMs: null,
    closedAtMs: null,
    leaseUntilMs: atMs + Math.round(idleMs),
    score: null,
    voidedAtMs: null,
    voidReason: null,
    backgroundMs: 0,
    closedBy: null,
  };
}

type Asked = Static<typeof claim.claim.ask>;
type Kind = Asked['kinds'][number];

/** What the claims say, each once, with its row; then of each claim its rollout and which of these it says. */
function byKind(requests: readonly ClaimRequest[]) {
  const kinds: Kind[] = [];
  const rows: string[] = [];
  const numbers = new Map<string, number>();
  const claims: Asked['claims'] = [];
  for (const request of requests) {
    const kind = kindOf(request);
    // The row's digest among its fields stands for the row, which may be a megabyte.
    const name = requests.length === 1 ? '' : JSON.stringify(kind);
    const number = numbers.get(name) ?? kinds.push(kind);
    rows[number - 1] ??= request.item ?? '';
    numbers.set(name, number);
    claims.push({ key: rolloutKey(request.owner), kind: number });
  }
  return { kinds, rows, claims };
}

function kindOf(request: ClaimRequest): Kind {
  const { item, recordOnly = false, turn } = request;
  const row = item === null ? null : rowDigest(item);
  const values: Partial<FieldValues> = { ...request, hadRow: row !== null, row };
  const texts = claimedFields.map((name) => [name, textOf(name, values[name])] as const);
  const fields = Object.fromEntries(texts.filter(([, text]) => text !== ''));
  return { fields, recordOnly, ...(turn === undefined ? {} : { turn }) };
}

/** By which rollouts of one tenant share a row. */
const rowDigest = (item: string) => createHash('sha256').update(item).digest('hex').slice(0, 32);
