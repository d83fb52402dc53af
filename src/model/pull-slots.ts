/**
 * How many of the start slots images that dataset rows name may hold. There may be thousands, and nobody has looked at
 * any of them: a pull may be slow or never end, and holds its slot meanwhile. Half is always for what is known to start.
 */
export type PullSlots = {
  /** Of one image until one of its sandboxes stands. */
  readonly first: number;
  /** Of one image after that. */
  readonly later: number;
  /** Of all together of which none stands yet. */
  readonly unproven: number;
};

export function pullSlots(startBudget: number): PullSlots {
  const share = (part: number) => Math.max(1, Math.floor(part * startBudget));
  return { first: share(1 / 4), later: share(1 / 2), unproven: share(1 / 2) };
}
