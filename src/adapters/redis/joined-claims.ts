import { createHash } from 'node:crypto';
import { rolloutKey, sandboxAddress } from '#src/model/rollout.ts';
import type { ClaimReply, ClaimRequest, ClaimStore } from '#src/ports/fleet/claims.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import { claimedFields, type FieldValues, textOf } from '#src/protocol/rollout/fields.ts';
import { claimReplyOf, epochOf } from './record.ts';
import { listOf, numberOf, textOf as textIn, type Reply, type RunScript } from './script-runner.ts';

/** Keeps one script under two milliseconds, and lets Redis work on one portion while we read the one before. */
const mostTogether = 32;

type Portion = {
  readonly requests: ClaimRequest[];
  readonly replies: Promise<readonly ClaimReply[]>;
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
    const { promise: replies, resolve } = Promise.withResolvers<readonly ClaimReply[]>();
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
    const reply = (await replies)[position];
    if (reply === undefined) throw new TypeError('a claim was not answered');
    return reply;
  };
}

async function ask(
  run: RunScript,
  rowBytesOfTenant: number,
  requests: readonly ClaimRequest[],
): Promise<readonly ClaimReply[]> {
  const { kinds, claims } = byKind(requests);
  const replies = listOf(await run('claim', rowBytesOfTenant, kinds.length, ...kinds.flat(), ...claims));
  return requests.map((request, index) => replyTo(request, replies[index] ?? null));
}

function replyTo(request: ClaimRequest, reply: Reply): ClaimReply {
  const [kind, ...given] = listOf(reply);
  if (kind !== 'created') return claimReplyOf(reply);
  return { kind: 'held', rollout: createdRecord(request, given) };
}

/** A new rollout that had its sandbox at once: what was asked for, and what it was given. */
function createdRecord(request: ClaimRequest, given: readonly Reply[]): RolloutRecord {
  const [wave, nowMs, sandbox, boot, address] = given;
  const { idleMs, hardLifeMs: _, recordOnly: _never, chosen: _chosen, turn: _turn, item, ...asked } = request;
  const atMs = numberOf(nowMs);
  return {
    ...asked,
    key: rolloutKey(request.owner),
    hadRow: item !== null,
    state: 'claimed',
    wave: numberOf(wave),
    generation: 1,
    epoch: epochOf(sandbox, boot),
    address: sandboxAddress(textIn(address)),
    launchType: 'warm',
    taint: null,
    broken: null,
    unmet: null,
    calls: 0,
    inFlight: 0,
    placedAtMs: atMs,
    claimedAtMs: atMs,
    activeAtMs: null,
    closedAtMs: null,
    leaseUntilMs: atMs + Math.round(idleMs),
    score: null,
    discard: null,
    trainerActed: false,
    closedBy: null,
  };
}

type Values = readonly (string | number)[];

/** As claim.lua takes them: what the claims say, each once, then of each claim its rollout and which of these it says. */
function byKind(requests: readonly ClaimRequest[]): { readonly kinds: Values[]; readonly claims: Values } {
  const kinds: Values[] = [];
  const numbers = new Map<string, number>();
  const claims: (string | number)[] = [];
  for (const request of requests) {
    const { owner, item, recordOnly = false, turn = '' } = request;
    const said = [...textsOf(request), recordOnly ? '1' : '', String(turn)];
    // The row's digest among them stands for the row, which may be a megabyte.
    const name = JSON.stringify(said);
    const number = numbers.get(name) ?? kinds.push([...said, item ?? '']);
    numbers.set(name, number);
    claims.push(rolloutKey(owner), number);
  }
  return { kinds, claims };
}

function textsOf(request: ClaimRequest): readonly string[] {
  const { item } = request;
  const row = item === null ? null : rowDigest(item);
  const values: Partial<FieldValues> = { ...request, hadRow: row !== null, row };
  return claimedFields.map((name) => textOf(name, values[name]));
}

/** By which rollouts of one tenant share a row. */
const rowDigest = (item: string) => createHash('sha256').update(item).digest('hex').slice(0, 32);
