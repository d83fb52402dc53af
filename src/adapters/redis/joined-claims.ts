import { createHash } from 'node:crypto';
import { rolloutKey, sandboxAddress } from '../../model/rollout.ts';
import type { RolloutTags } from '../../model/rollout.ts';
import type { ClaimReply, ClaimRequest, ClaimStore } from '../../ports/fleet/claims.ts';
import type { RolloutRecord } from '../../ports/fleet/records.ts';
import { claimReplyOf } from './claim-reply.ts';
import { epochOf } from './record.ts';
import { listOf, numberOf, textOf, type Reply } from './reply.ts';
import type { RunScript } from './script-runner.ts';

/** Keeps one script under two milliseconds, and lets Redis work on one portion while we read the one before. */
const mostTogether = 32;

type Portion = { readonly requests: ClaimRequest[]; readonly replies: Promise<readonly ClaimReply[]> };

/**
 * Sends the claims of one turn of the event loop together. A burst of claims is what this product is for, and half of
 * what a claim costs Redis is the same for all of them. Each is still one round trip, and a single one waits for nothing
 * but the end of the turn.
 */
export function joinClaims(run: RunScript, rowBytesOfTenant: number): ClaimStore['claim'] {
  let gathering: Portion | null = null;
  const gather = (): Portion => {
    const requests: ClaimRequest[] = [];
    const replies = endOfTurn().then(() => {
      gathering = null;
      return send(run, rowBytesOfTenant, requests);
    });
    return { requests, replies };
  };
  return async (request) => {
    if (gathering === null || gathering.requests.length === mostTogether) gathering = gather();
    const { requests, replies } = gathering;
    const position = requests.push(request) - 1;
    const reply = (await replies)[position];
    if (reply === undefined) throw new TypeError('a claim was not answered');
    return reply;
  };
}

const endOfTurn = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve);
  });

async function send(
  run: RunScript,
  rowBytesOfTenant: number,
  requests: readonly ClaimRequest[],
): Promise<readonly ClaimReply[]> {
  const replies = listOf(await run('claim', rowBytesOfTenant, ...requests.flatMap(argumentsOf)));
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
  const { idleMs, hardLifeMs: _, recordOnly: _never, chosen: _chosen, item, ...asked } = request;
  const atMs = numberOf(nowMs);
  return {
    ...asked,
    key: rolloutKey(request.owner),
    hadRow: item !== null,
    state: 'claimed',
    wave: numberOf(wave),
    generation: 1,
    epoch: epochOf(sandbox, boot),
    address: sandboxAddress(textOf(address)),
    launchType: 'warm',
    taint: null,
    broken: null,
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

/** The twelve values of one claim, as claim.lua takes them. */
function argumentsOf(request: ClaimRequest): readonly (string | number)[] {
  const { owner, face, environment, version, template, itemKey, item, tags } = request;
  const { idleMs, hardLifeMs, recordOnly = false } = request;
  return [
    rolloutKey(owner),
    face,
    environment,
    version,
    template,
    itemKey,
    item ?? '',
    item === null ? '' : rowDigest(item),
    Math.round(idleMs),
    Math.round(hardLifeMs),
    tagsText(tags),
    recordOnly ? 1 : '',
  ];
}

/** By which rollouts of one tenant share a row. */
const rowDigest = (item: string) => createHash('sha256').update(item).digest('hex').slice(0, 32);

/** Most rollouts have none, and then nothing is written. */
function tagsText(tags: RolloutTags): string {
  return tags.step === null && tags.labels.length === 0 ? '' : JSON.stringify(tags);
}
