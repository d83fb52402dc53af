import { Failure } from '../failure/failure.ts';
import type { Item } from '../model/grader.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';

/**
 * Rows are large, many rollouts have the same one, and few questions are about it: so fleet state keeps it beside the
 * record, and it is read where it is used.
 */
type Rows = Pick<ClaimStore, 'row'>;
type OfRow = Pick<RolloutRecord, 'key' | 'hadRow'>;

/**
 * The dataset row of an open rollout; null: no call brought one. Throws `state_unavailable` for one that was brought and is
 * gone, as after a Redis that lost its data: without it a grader would compare with nothing, and the trainer would be told
 * that its row lacks a field.
 */
export async function rowOf(rows: Rows, rollout: OfRow): Promise<Item | null> {
  const row = await rowIfKept(rows, rollout);
  if (row !== null || !rollout.hadRow) return row;
  throw new Failure(
    'state_unavailable',
    `fleet state has lost the dataset row of ${rollout.key}; send it again as \`item\``,
    { evidence: { row: 'lost' } },
  );
}

/** The same for whom a lost row makes no difference. */
export async function rowIfKept(rows: Rows, { key, hadRow }: OfRow): Promise<Item | null> {
  const text = hadRow ? await rows.row(key) : null;
  return text === null ? null : (JSON.parse(text) as Item);
}
