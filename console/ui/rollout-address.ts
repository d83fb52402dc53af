import { addressOf } from './route.ts';

export type RolloutName = { readonly id: string; readonly attempt: number };

export const isSameRollout = (one: RolloutName, other: RolloutName): boolean =>
  one.id === other.id && one.attempt === other.attempt;

/** The page of a rollout; a first attempt needs no number. */
export const addressOfRollout = (run: string, { id, attempt }: RolloutName): string =>
  addressOf(['runs', run, 'rollouts', id], attempt === 1 ? {} : { attempt: String(attempt) });

/** Two rollouts side by side. */
export const addressOfTwo = (run: string, a: RolloutName, b: RolloutName): string =>
  addressOf(['runs', run, 'compare'], {
    a: a.id,
    ...(a.attempt === 1 ? {} : { a_attempt: String(a.attempt) }),
    b: b.id,
    ...(b.attempt === 1 ? {} : { b_attempt: String(b.attempt) }),
  });

/** Where the server answers about a rollout, and the query that names its attempt. */
export const apiOf = (run: string, { id, attempt }: { readonly id: string; readonly attempt: string }) => ({
  path: `/api/runs/${encodeURIComponent(run)}/rollouts/${encodeURIComponent(id)}`,
  asked: `?attempt=${encodeURIComponent(attempt)}`,
});
