import type { SandboxId } from '../model/ids.ts';
import { ownerOf, type RolloutKey } from '../model/rollout.ts';
import type { KnownSandboxes } from '../pool/known-sandboxes.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';
import type { PoolStore } from '../ports/fleet/pool.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { eachOf } from '../waiting/each-of.ts';

export type LabelTools = {
  readonly known: KnownSandboxes;
  readonly pool: Pick<PoolStore, 'takeErrands'>;
  readonly claims: Pick<ClaimStore, 'find'>;
  readonly provider: Pick<SandboxProvider, 'label'>;
  /** When a rollout must be over, whatever happens: wall clock, milliseconds. */
  readonly hardEndMs: (rollout: RolloutRecord) => number;
  readonly metrics: Pick<Metrics, 'ownersUnlabelled'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
};

/** At once: a burst's five hundred are written within seconds, and the calls beside them have the machine. */
const width = 4;

/**
 * Who has owned its sandbox for less is in its first calls: five hundred labels cost the engine as much as five hundred
 * creates, and where it shares their machine, those calls were answered three times later.
 */
const settledMs = 2_000;

type Unlabelled = { readonly owner: RolloutKey; readonly sinceMs: number };

/**
 * Writes who owns a sandbox, and until when, where the provider's own list shows it. Once per adoption and process:
 * what another controller has written meanwhile the provider knows, or it is written again with the same words.
 */
export function createLabeller(tools: LabelTools): () => Promise<void> {
  const labelled = new Map<SandboxId, RolloutKey>();
  const missing = new Map<SandboxId, Unlabelled>();
  tools.known.onKnown((sandbox, known) => {
    const owner = known?.owner ?? null;
    if (known === null) labelled.delete(sandbox);
    if (owner === null || labelled.get(sandbox) === owner) missing.delete(sandbox);
    else if (missing.get(sandbox)?.owner !== owner) {
      missing.set(sandbox, { owner, sinceMs: tools.clock.monotonicMs() });
    }
  });

  return async () => {
    await tools.known.read();
    const settledSinceMs = tools.clock.monotonicMs() - settledMs;
    const given = [...missing].filter(([, { sinceMs }]) => sinceMs <= settledSinceMs);
    const ours = new Set(
      await tools.pool.takeErrands(
        'label',
        given.map(([sandbox]) => sandbox),
      ),
    );
    tools.metrics.ownersUnlabelled(missing.size);
    const taken = given.filter(([sandbox]) => ours.has(sandbox));
    await eachOf(taken, width, async ([sandbox, { owner }]) => {
      if (!(await label(tools, sandbox, owner))) return;
      if (missing.delete(sandbox)) labelled.set(sandbox, owner);
      tools.metrics.ownersUnlabelled(missing.size);
    });
  };
}

// A rollout that let go of the sandbox meanwhile gets no label: the sandbox is on its way out.
async function label({ claims, provider, hardEndMs }: LabelTools, sandbox: SandboxId, key: RolloutKey) {
  const owner = ownerOf(key);
  const rollout = await claims.find(owner, owner.attempt);
  if (rollout === null || rollout.epoch?.sandbox !== sandbox) return false;
  await provider.label(sandbox, owner, hardEndMs(rollout));
  return true;
}
