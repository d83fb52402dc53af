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
 * port and taken that for the policy's doing. So what was opened before is discarded:
 *
 *   opens its port ─▶ shown ─▶ another listens ──────────────────────────────────▶ listens
 *                      │  ▲      └ unsure: one may still come back
 *                      └──┘
 *                      └─────▶ none does ─▶ discards all that was opened before ─▶ listens
 *
 * Until it listens, requests of E2B's clients wait at every gateway.
 */

/** Call it when the port is open. Resolves with true when this gateway listens, with false if it is stopped before. */
export async function decideBeginning(deps: GatewayStartDeps, signal: AbortSignal): Promise<boolean> {
  const { gateways, gateway, clock, onLost } = deps;
  const openedAtMs = clock.monotonicMs();
  const begin = () =>
    persisting(deps, signal, () => gateways.begin(gateway, clock.monotonicMs() - openedAtMs));
  await persisting(deps, signal, () => gateways.appear(gateway));
  let beginning = await begin();
  while (beginning.kind === 'unsure' && !signal.aborted) {
    await clock.sleep(lookAgainMs, signal);
    beginning = await begin();
  }
  if (beginning.kind === 'alone') await sweep(deps, beginning.atMs, signal);
  if (signal.aborted) return false;
  const { lost } = await persisting(deps, signal, () => gateways.keep(gateway));
  await onLost(lost);
  return true;
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
