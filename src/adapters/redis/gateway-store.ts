import type { GatewayStore } from '#src/ports/fleet/gateways.ts';
import type { Keys } from './keys.ts';
import { evidenceText, recordOf, recordOrNull } from './record.ts';
import { classifyTrouble } from './redis-trouble.ts';
import { type RunScript, scriptsOver } from './script-runner.ts';
import { itemsOf } from './scripts/contract.ts';

/** `subscribe`: to a channel, until the connection ends. */
export function gatewayStore(
  run: RunScript,
  keys: Keys,
  subscribe: (channel: string) => Promise<unknown>,
): GatewayStore {
  const { ask } = scriptsOver(run);
  return {
    appear: async (gateway) => {
      await ask('appear-gateway', { gateway });
      await subscribe(keys('gateway', gateway)).catch(rethrow);
    },
    begin: (gateway) => ask('begin-gateway', { gateway }),
    sweep: async (cursor, beforeMs) => {
      const evidence = evidenceText({ reason: 'no_gateway_listened' });
      const { cursor: next, lost } = await ask('sweep-requests', {
        cursor: cursor ?? '0',
        beforeMs,
        evidence,
      });
      return { cursor: next ?? null, lost: itemsOf(lost).map(recordOf) };
    },
    keep: async (gateway, { inHand, isLeaving = false } = {}) => {
      const { isForgotten, lost } = await ask('keep-gateway', {
        gateway,
        inHand: inHand && [...inHand],
        isLeaving,
      });
      return { isForgotten, lost: itemsOf(lost).map(recordOf) };
    },
    enter: async (gateway, key) => void (await ask('enter-request', { gateway, key })),
    leave: async (gateway, key) => void (await ask('leave-request', { gateway, key })),
    lose: async (key, evidence) =>
      recordOrNull(await ask('lose-request', { key, evidence: evidenceText(evidence) })),
    end: async (gateway) => void (await ask('end-gateway', { gateway })),
  };
}

function rethrow(thrown: unknown): never {
  throw classifyTrouble(thrown);
}
