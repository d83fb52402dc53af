import { Failure } from '#src/failure/failure.ts';
import { sandboxId } from '#src/model/ids.ts';
import { rolloutKey, type RolloutKey } from '#src/model/rollout.ts';
import type { FoundRollout, RecoveryStore } from '#src/ports/fleet/recovery.ts';
import { keptOfLabel } from '#src/protocol/rollout/label.ts';
import { recordOf, recordOrNull } from './record.ts';
import { type RunScript, scriptsOver, textOrNull } from './script-runner.ts';
import { itemsOf } from './scripts/contract.ts';
import { storedTool } from './call-store.ts';

/** Keeps one script under a few milliseconds, because Redis does nothing else meanwhile. */
const markBatch = 500;

export function recoveryStore(run: RunScript): RecoveryStore {
  const { ask } = scriptsOver(run);
  return {
    kept: async () => {
      const kept = await ask('read-kept', {});
      if (kept === null) return null;
      const rows = itemsOf(kept.sandboxes).map(({ sandbox, phase = '', owner }) => {
        return [sandboxId(sandbox), { phase, owner: textOrNull(owner) as RolloutKey | null }] as const;
      });
      return { redis: kept.redis, sandboxes: new Map(rows) };
    },
    restoreRollout: async (found) => {
      const restored = await ask('restore-rollout', restoreAsk(found));
      return typeof restored === 'string' ? restored : { lost: recordOf(restored.lost) };
    },
    restoreReady: async ({ sandbox, template, boot, address }) => {
      await ask('restore-sandbox', { sandbox, template, verdict: 'ready', boot, address });
    },
    markUnsure: async (sandbox, template, owner) => {
      await ask('restore-sandbox', { sandbox, template, verdict: 'unsure', rollout: owner ?? undefined });
    },
    markGone: async (sandbox) =>
      recordOrNull(await ask('restore-sandbox', { sandbox, template: '', verdict: 'gone' })),
    markLost: async (rollouts) => {
      for (let start = 0; start < rollouts.length; start += markBatch)
        await ask('mark-lost', { rollouts: rollouts.slice(start, start + markBatch) });
    },
    adopt: async (redis) => {
      const adoption = await ask('adopt', { holding: 'persisted', writtenBackInto: redis });
      if (adoption === 'refused')
        throw new Failure('recovering', 'another Redis came while this one was written back');
    },
    adoptedAtMs: () => ask('adopted-at', {}),
  };
}

function restoreAsk({ owner, expiresInMs, calls, label, ...found }: FoundRollout) {
  const { sandbox, template, boot, address, dispatched } = found;
  return {
    id: rolloutKey(owner),
    sandbox,
    template,
    boot,
    address,
    label,
    kept: [...keptOfLabel(label)],
    expiresInMs: Math.round(expiresInMs),
    dispatched,
    calls: calls.map((call) => ({ ...call, tool: storedTool(call.tool) })),
  };
}
