import { type Amounts, type DemandedAmounts, mostDemandable } from '../model/amounts.ts';
import type { SandboxRequirements } from '../model/requirements.ts';

/** What the record of a rollout keeps of what its task demands, as JSON in `needs`. */
type KeptDemands = SandboxRequirements & { readonly amounts?: DemandedAmounts | null };

/** Null: its task demands nothing that a sandbox has to show or be made with. */
export function keepDemands(
  sandbox: SandboxRequirements | null,
  amounts: DemandedAmounts | null,
): string | null {
  if (sandbox === null && amounts === null) return null;
  return JSON.stringify({ ...sandbox, ...(amounts !== null && { amounts }) } satisfies KeptDemands);
}

export function sandboxDemands(needs: string | null): SandboxRequirements | null {
  if (needs === null) return null;
  const { amounts: _amounts, ...sandbox } = read(needs);
  return sandbox;
}

/**
 * What its sandboxes have at least; null: its task demands no amount. After Redis was lost, `needs` is what a sandbox has told, and a
 * policy with root's rights may have changed it: what is no amount is left out.
 */
export function demandedAmounts(needs: string | null): DemandedAmounts | null {
  const { amounts } = needs === null ? {} : read(needs);
  if (typeof amounts !== 'object' || amounts === null) return null;
  const entries = Object.entries(mostDemandable).map(([name, most]) => [
    name,
    boundedAmount(amounts[name as keyof Amounts], most),
  ]);
  const { diskIsMemory } = amounts;
  return {
    ...Object.fromEntries(entries.filter(([, amount]) => amount !== undefined)),
    ...(diskIsMemory === true && { diskIsMemory }),
  };
}

function read(needs: string): Partial<KeptDemands> {
  try {
    const kept = JSON.parse(needs) as KeptDemands | null;
    return typeof kept === 'object' && kept !== null ? kept : {};
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return {};
    throw thrown;
  }
}

const boundedAmount = (amount: unknown, most: number): number | undefined =>
  typeof amount === 'number' && amount > 0 && amount <= most ? Math.floor(amount) : undefined;
