import { Failure } from '../failure/failure.ts';
import type { Item } from '../model/grader.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';

/**
 * The dataset row of an open rollout, as fleet state keeps it; null: no call brought one. Throws `state_unavailable` for
 * one that was brought and is gone, as after a Redis that lost its data: without it a grader would compare with nothing,
 * and the trainer would be told that its row lacks a field.
 */
export function rowOf({ key, item, hadRow }: Pick<RolloutRecord, 'key' | 'item' | 'hadRow'>): Item | null {
  if (item !== null) return JSON.parse(item) as Item;
  if (!hadRow) return null;
  throw new Failure(
    'state_unavailable',
    `fleet state has lost the dataset row of ${key}; send it again as \`item\``,
    {
      evidence: { row: 'lost' },
    },
  );
}
