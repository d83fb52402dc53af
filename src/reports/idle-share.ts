import type { SandboxCost } from '../ports/fleet/reports.ts';

/**
 * Of all the time that sandboxes have cost, the share in which no rollout had them: while they started, and while they
 * were kept ready. Null: nothing was spent yet.
 */
export function idleShare(costs: readonly SandboxCost[]): number | null {
  const all = sum(costs);
  return all === 0 ? null : sum(costs.filter(({ state }) => state === 'ready' || state === 'starting')) / all;
}

const sum = (some: readonly SandboxCost[]): number => some.reduce((total, { ms }) => total + ms, 0);
