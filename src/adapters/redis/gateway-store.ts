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
      await subscribe(keys('gateway', gateway)).catch(rethrow);
      await ask('appear-gateway', { gateway });
    },
    begin: (gateway, sinceMs) => ask('begin-gateway', { gateway, sinceMs }),
    sweep: async (cursor, beforeMs) => {
      const evidence = evidenceText({ reason: 'no_gateway_listened' });
      const { cursor: next, lost } = await ask('sweep-requests', {
        cursor: cursor ?? '0',
        beforeMs,
        evidence,
      });
      return { cursor: next ?? null, lost: itemsOf(lost).map(recordOf) };
    },
    keep: async (gateway) => itemsOf(await ask('keep-gateway', { gateway })).map(recordOf),
    enter: async (gateway, request, key) => void (await ask('enter-request', { gateway, request, key })),
    leave: async (gateway, request, key) => void (await ask('leave-request', { gateway, request, key })),
    lose: async (key, evidence, suspected) =>
      recordOrNull(
        await ask('lose-request', {
          key,
          evidence: evidenceText(evidence),
          suspected: suspected ?? undefined,
        }),
      ),
    end: async (gateway) => void (await ask('end-gateway', { gateway })),
  };
}

function rethrow(thrown: unknown): never {
  throw classifyTrouble(thrown);
}
