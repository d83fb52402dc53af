import type { GatewayStore } from '../ports/fleet/gateways.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { type RetryDeps, retrying } from '../waiting/retries.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';

export type GatewayStartDeps = RetryDeps & {
  readonly gateways: Pick<GatewayStore, 'appear' | 'begin' | 'sweep' | 'keep'>;
  /** The name of this process. */
  readonly gateway: string;
  /** Hears of rollouts that were discarded. */
  readonly onLost: (rollouts: readonly RolloutRecord[]) => Promise<void>;
};

/** One that may come back is looked for so often. */
const lookAgainMs = 200;

/*
 * A gateway process starts. If no other one listened until now, however short the gap was, every client of E2B may have met a closed
 * door and taken that for the policy's doing. So what was opened before is discarded:
 *
 *   shown ─▶ opens its door ─▶ another listens ──────────────────────────────────▶ listens
 *                │  ▲            └ unsure: one may still come back
 *                └──┘
 *                └──────────▶ none does ─▶ discards all that was opened before ─▶ listens
 *
 * Until it listens, requests of E2B's clients wait at every gateway.
 */

/** Resolves when fleet state sees this process. From here on it may open its door. */
export function showGateway(deps: GatewayStartDeps, signal: AbortSignal): Promise<void> {
  const { gateways, gateway } = deps;
  return persisting(deps, signal, () => gateways.appear(gateway));
}

/** To be called when its door is open. Resolves when it listens. */
export async function decideBeginning(deps: GatewayStartDeps, signal: AbortSignal): Promise<void> {
  const { gateways, gateway, clock, onLost } = deps;
  let beginning = await persisting(deps, signal, () => gateways.begin(gateway));
  while (beginning.kind === 'unsure' && !signal.aborted) {
    const { sinceMs } = beginning;
    await clock.sleep(lookAgainMs, signal);
    beginning = await persisting(deps, signal, () => gateways.begin(gateway, sinceMs));
  }
  if (beginning.kind === 'alone') await sweep(deps, beginning.atMs, signal);
  await onLost(await persisting(deps, signal, () => gateways.keep(gateway)));
}

type Portion = Awaited<ReturnType<GatewayStore['sweep']>>;

async function sweep(deps: GatewayStartDeps, beforeMs: number, signal: AbortSignal): Promise<void> {
  let portion: Portion = { cursor: null, lost: [] };
  do {
    const { cursor } = portion;
    portion = await persisting(deps, signal, () => deps.gateways.sweep(cursor, beforeMs));
    await deps.onLost(portion.lost);
  } while (portion.cursor !== null && !signal.aborted);
}

/** Until fleet state has heard it, or this process ends. */
function persisting<Result>(
  deps: RetryDeps,
  signal: AbortSignal,
  step: () => Promise<Result>,
): Promise<Result> {
  return retrying(deps, retryPolicies.lostRequest, step, { hurry: signal });
}
