import { createHash } from 'node:crypto';
import type { Item } from '#src/model/grader.ts';

/** By which copies of one row are found, as the event log names it too: its id, else by what is in it. */
export function itemName(item: Item): string {
  const { id = null } = item;
  if (typeof id === 'string' || typeof id === 'number') return String(id).slice(0, longestId);
  return itemTextName(JSON.stringify(item));
}

/** The event log keeps so much of a row, and of its id. */
const keptOfItem = 16_384;
const longestId = 300;

export const itemTextName = (text: string): string =>
  `row ${createHash('sha256').update(text.slice(0, keptOfItem)).digest('hex').slice(0, 12)}`;
