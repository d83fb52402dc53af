/** Finite numbers by name; a plain number is `reward`. */
export type Reward = Readonly<Record<string, number>>;

/** As Harbor reads what a verifier leaves: `reward.json` where it exists. Null: no reward, which is not a zero. */
export function readReward(json: string | null, text: string | null): Reward | null {
  if (json !== null) return namedNumbers(parse(json));
  return text === null ? null : namedNumbers({ reward: text.trim() === '' ? null : Number(text) });
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

function namedNumbers(value: unknown): Reward | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const entries = Object.entries(value);
  const isReward = entries.length > 0 && entries.every(([, each]) => Number.isFinite(each));
  return isReward ? Object.fromEntries(entries.map(([name, each]) => [name, Number(each)])) : null;
}

/**
 * Whether the solution earned everything. `full`: `max_reward` of the task's metadata, a number or a table by name, 1 where it
 * says nothing; compared with `reward`, or without one of that name, with each.
 */
export function isFull(reward: Reward, full: unknown): boolean {
  if (typeof full === 'object' && full !== null) {
    return Object.entries(full).every(
      ([name, least]) => (reward[name] ?? Number.NEGATIVE_INFINITY) >= Number(least),
    );
  }
  const least = typeof full === 'number' ? full : 1;
  const measured = reward['reward'] === undefined ? Object.values(reward) : [reward['reward']];
  return measured.every((each) => each >= least);
}
