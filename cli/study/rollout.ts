import { createHash } from 'node:crypto';
import type { Item } from '#src/model/grader.ts';
import type { PartReason } from '#src/ports/event-log.ts';

/** One call as the model made it. Null: its source does not tell. */
export type StudiedCall = {
  readonly tool: string;
  /** The arguments as text, by which two calls are the same. */
  readonly arguments: string | null;
  readonly outputBytes: number | null;
  readonly outputTokens: number | null;
  readonly tookMs: number | null;
};

/** Why a rollout has no score; a trainer discards it. */
export type Loss = { readonly at: string; readonly code: string; readonly blame: string };

/** One rollout, played by a script, by a model, or in a training run of last week. */
export type StudiedRollout = {
  readonly id: string;
  /** By which copies of one item are found; null: its source does not tell. */
  readonly item: string | null;
  readonly calls: readonly StudiedCall[];
  /** From its first request to its score. */
  readonly tookMs: number | null;
  /** The grader's parts, if it has some and they are reported. */
  readonly parts: readonly PartReason[];
  /** Tokens that a model wrote, thinking included; null if no model played, or they were not counted. */
  readonly writtenTokens: number | null;
  readonly ended:
    | { readonly kind: 'scored'; readonly score: number }
    | { readonly kind: 'lost'; readonly loss: Loss }
    /** A recorded run has ungraded rollouts. */
    | { readonly kind: 'ungraded' };
};

/** Whose rollouts are studied together: a policy, a model or a run. */
export type Subject = {
  readonly name: string;
  readonly what: 'policy' | 'model' | 'run';
  readonly rollouts: readonly StudiedRollout[];
};

/** What people are paid by each other: a line in the drawings, beyond which a policy learns one person's habits. */
export type Ceiling = { readonly name: string; readonly mean: number };

type Scored = StudiedRollout & {
  readonly ended: { readonly kind: 'scored'; readonly score: number };
};

/** What has a score: everything that is said of rewards is said of these alone. */
export const scoredOf = (rollouts: readonly StudiedRollout[]): readonly Scored[] =>
  rollouts.filter((rollout): rollout is Scored => rollout.ended.kind === 'scored');

export const mean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : sum(values) / values.length;

export const sum = (values: readonly number[]): number => values.reduce((all, each) => all + each, 0);

/** Of all values, not of a sample: the spread that is there. */
export function deviation(values: readonly number[]): number | null {
  const middle = mean(values);
  if (middle === null) return null;
  return Math.sqrt(sum(values.map((each) => (each - middle) ** 2)) / values.length);
}

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
