import { Failure } from '#src/failure/failure.ts';
import { sandboxId } from '#src/model/ids.ts';
import { rolloutKey, type RolloutKey } from '#src/model/rollout.ts';
import type { FoundRollout, RecoveryStore } from '#src/ports/fleet/recovery.ts';
import { keptOfLabel } from '#src/protocol/rollout/label.ts';
import { listOf, numberOrNull, textOf, textOrNull, type Reply, type RunScript } from './script-runner.ts';
import { storedTool } from './call-store.ts';

/** Keeps one script under a few milliseconds, because Redis does nothing else meanwhile. */
const markBatch = 500;

export function recoveryStore(run: RunScript): RecoveryStore {
  return {
    kept: async () => {
      const kept = await run('read-kept');
      if (kept === null) return null;
      const [redis, rows] = listOf(kept);
      return { redis: textOf(redis), sandboxes: new Map(listOf(rows).map(keptOf)) };
    },
    restoreRollout: async (found) => restoredOf(await run('restore-rollout', rolloutText(found))),
    restoreReady: async ({ sandbox, template, boot, address }) => {
      await run('restore-sandbox', sandbox, template, 'ready', boot, address, '');
    },
    markUnsure: async (sandbox, template, owner) => {
      await run('restore-sandbox', sandbox, template, 'unsure', '', '', owner ?? '');
    },
    markGone: async (sandbox) => {
      await run('restore-sandbox', sandbox, '', 'gone', '', '', '');
    },
    markLost: async (rollouts) => {
      for (let start = 0; start < rollouts.length; start += markBatch)
        await run('mark-lost', ...rollouts.slice(start, start + markBatch));
    },
    adopt: async (redis) => {
      const adoption = await run('adopt', 'persisted', redis);
      if (adoption === 'refused')
        throw new Failure('recovering', 'another Redis came while this one was written back');
    },
    adoptedAtMs: async () => numberOrNull(await run('adopted-at')),
  };
}

function keptOf(row: Reply) {
  const [sandbox, phase, owner] = listOf(row);
  const kept = { phase: textOrNull(phase) ?? '', owner: textOrNull(owner) as RolloutKey | null };
  return [sandboxId(textOf(sandbox)), kept] as const;
}

/** The one argument of `restore-rollout`: a rollout has too many calls for arguments. */
function rolloutText({ owner, expiresInMs, calls, ...found }: FoundRollout): string {
  return JSON.stringify({
    ...found,
    id: rolloutKey(owner),
    expiresInMs: Math.round(expiresInMs),
    kept: keptOfLabel(found.label),
    calls: calls.map((call) => ({ ...call, tool: storedTool(call.tool) })),
  });
}

function restoredOf(reply: Reply) {
  const said = textOf(reply);
  if (said === 'live' || said === 'given_up' || said === 'late' || said === 'two_lives') return said;
  throw new TypeError(`a restored rollout answered ${JSON.stringify(said)}`);
}
