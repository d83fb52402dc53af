import { restsOnSandbox } from '#src/failure/witness.ts';
import type { GatewayStore } from '#src/ports/fleet/gateways.ts';
import type { Keys } from './keys.ts';
import { evidenceText, recordOf, recordOrNull } from './record.ts';
import { classifyTrouble } from './redis-trouble.ts';
import { type RunScript, scriptsOver } from './script-runner.ts';
import { itemsOf } from './scripts/contract.ts';

export type Subscriptions = {
  /** Until the connection ends. */
  readonly subscribe: (channel: string) => Promise<unknown>;
  /** Connects again, with all subscriptions: the Redis at the other end may not be the writable one any more. */
  readonly reconnect: () => void;
};

export function gatewayStore(
  run: RunScript,
  keys: Keys,
  { subscribe, reconnect }: Subscriptions,
): GatewayStore {
  const { ask } = scriptsOver(run);
  let misses = 0;
  /** A Redis that is demoted keeps the subscription, and the new one does not have it. */
  const resubscribe = (channel: string) => {
    misses += 1;
    if (misses === 1) return void subscribe(channel).catch(() => undefined);
    misses = 0;
    reconnect();
  };
  return {
    appear: async (gateway) => {
      await ask('appear-gateway', { gateway });
      await subscribe(keys('gateway', gateway)).catch(rethrow);
    },
    begin: (gateway, openMs) => ask('begin-gateway', { gateway, openMs }),
    sweep: async (cursor, beforeMs) => {
      const evidence = evidenceText({ reason: 'no_gateway_listened' });
      const { cursor: next, lost } = await ask('sweep-requests', {
        cursor: cursor ?? '0',
        beforeMs,
        evidence,
      });
      return { cursor: next ?? null, lost: itemsOf(lost).map(recordOf) };
    },
    keep: async (gateway, { inHand, leavingMs } = {}) => {
      const { isForgotten, isHeard, lost } = await ask('keep-gateway', {
        gateway,
        inHand: inHand && [...inHand],
        leavingMs,
      });
      if (isHeard) misses = 0;
      else resubscribe(keys('gateway', gateway));
      return { isForgotten, lost: itemsOf(lost).map(recordOf) };
    },
    enter: async (gateway, key) => void (await ask('enter-request', { gateway, key })),
    leave: async (gateway, key) => void (await ask('leave-request', { gateway, key })),
    lose: async (key, evidence) =>
      recordOrNull(
        await ask('lose-request', {
          key,
          evidence: evidenceText(evidence),
          bySandbox: restsOnSandbox('request_lost', evidence),
        }),
      ),
    end: async (gateway) => void (await ask('end-gateway', { gateway })),
  };
}

function rethrow(thrown: unknown): never {
  throw classifyTrouble(thrown);
}
