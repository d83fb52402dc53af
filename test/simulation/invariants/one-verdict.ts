import { failureRow } from '#src/failure/codes.ts';
import type { Request } from '../trainer/ledger.ts';
import type { World } from '../world.ts';
import type { Invariant } from './inspector.ts';
import { ownerKey } from './owner-key.ts';

/** What an answer or an event says that its rollout has come to, for good, and when that was said. */
type Word = { readonly says: string; readonly by: string; readonly atMs: number };

/** Calls, grades, views, events and fleet state give one verdict of a rollout. */
export const oneVerdict: Readonly<Record<string, Invariant>> = {
  'any two answers about a rollout give the same verdict': (world) => {
    for (const { run, name } of world.planned) {
      const words = wordsOf(world, ownerKey(run, name), name);
      for (const [index, first] of words.entries()) {
        const other = words.slice(index + 1).find((word) => contradicts(world, first, word));
        if (other !== undefined)
          return `${name} was ${first.says} by its ${first.by}, and ${other.says} by its ${other.by}`;
      }
    }
    return null;
  },

  'a broken rollout is discarded only for its judge': (world) => {
    for (const { run, name, environment } of world.planned) {
      const row = world.redis.scripts.state.rollouts.get(ownerKey(run, name));
      if (row?.broken === true && row.discard === 'grader_failed' && !byJudge.has(environment))
        return `${name} broke its sandbox, and was discarded by its ${environment} grader`;
    }
    return null;
  },
};

const byJudge: ReadonlySet<string> = new Set(['judged', 'guarded']);

function wordsOf(world: World, owner: string, name: string): readonly Word[] {
  const told = world.ledger.of(name).flatMap((request) => {
    const says = saidBy(request);
    return says === null ? [] : [{ says, by: request.call, atMs: request.toldMs }];
  });
  const written = world.verdicts
    .filter(({ key }) => key === owner)
    .map(({ verdict, score, atMs }) => ({
      says: verdict.kind === 'discard' ? discardedBy(verdict.code) : scored(score ?? NaN),
      by: 'event log',
      atMs,
    }));
  const row = world.redis.scripts.state.rollouts.get(owner);
  const { nowMs } = world.scheduler;
  const stored =
    row?.verdict === 'discarded'
      ? [{ says: discardedBy(row.discard), by: 'record', atMs: nowMs }]
      : row?.verdict === 'scored'
        ? [{ says: scored(Number(row.score)), by: 'record', atMs: nowMs }]
        : [];
  return [...told, ...written, ...stored].toSorted((one, other) => one.atMs - other.atMs);
}

const discardedBy = (code: string) => `discarded by ${code}`;
const scored = (score: number) => `scored ${score}`;

/** Null: the answer leaves it open. A grader may fail, and an id may be unknown, for the moment. */
function saidBy({ told }: Request): string | null {
  if (told?.kind === 'score') return scored(told.score);
  if (told?.kind === 'view' && told.code !== null) return discardedBy(told.code);
  const isFinal = told?.kind === 'failure' && (failureRow(told.code).taints || told.code === 'voided');
  return isFinal ? discardedBy(told.code) : null;
}

/**
 * If Redis has lost the first of the two, the second may be a refusal. A score that was told is never followed by another one. A
 * discard is not followed by a score, except where Redis lost all that it held: of a rollout that had no sandbox yet nobody else knows.
 */
function contradicts({ redis }: World, first: Word, second: Word): boolean {
  if (first.says === second.says) return false;
  const lostBetween = redis.replacedMs.flatMap((atMs, index) => {
    const missedFromMs = redis.missedFromMs[index] ?? Infinity;
    return atMs < second.atMs && first.atMs > missedFromMs ? [missedFromMs] : [];
  });
  if (!second.says.startsWith('scored')) return lostBetween.length === 0;
  return first.says.startsWith('scored') || !lostBetween.includes(Number.NEGATIVE_INFINITY);
}
