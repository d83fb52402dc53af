import type { SandboxId } from '../model/ids.ts';
import { ownerOf } from '../model/rollout.ts';
import type { RolloutKey } from '../model/rollout.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';
import type { PoolStore } from '../ports/fleet/pool.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { eachOf } from '../waiting/each-of.ts';

export type LabelTools = {
  readonly pool: Pick<PoolStore, 'known' | 'takeErrands'>;
  readonly claims: Pick<ClaimStore, 'find'>;
  readonly provider: Pick<SandboxProvider, 'label'>;
  /** When a rollout must be over, whatever happens: wall clock, milliseconds. */
  readonly hardEndMs: (rollout: RolloutRecord) => number;
  readonly metrics: Pick<Metrics, 'ownersUnlabelled'>;
};

/** At once: a burst's five hundred are written within seconds, and its first calls have the machine. */
const width = 4;

/**
 * Writes who owns a sandbox, and until when, where the provider's own list shows it. Once per adoption and process:
 * what another controller has written meanwhile the provider knows, or it is written again with the same words.
 */
export function createLabeller(tools: LabelTools): () => Promise<void> {
  const labelled = new Map<SandboxId, RolloutKey>();

  return async () => {
    const known = await tools.pool.known();
    for (const sandbox of labelled.keys()) if (!known.has(sandbox)) labelled.delete(sandbox);
    const missing = [...known].flatMap(([sandbox, { owner }]) =>
      owner === null || labelled.get(sandbox) === owner ? [] : [{ sandbox, owner }],
    );
    const ours = new Set(
      await tools.pool.takeErrands(
        'label',
        missing.map(({ sandbox }) => sandbox),
      ),
    );
    const given = missing.filter(({ sandbox }) => ours.has(sandbox));
    let left = missing.length;
    tools.metrics.ownersUnlabelled(left);
    await eachOf(given, width, async ({ sandbox, owner }) => {
      if (!(await label(tools, sandbox, owner))) return;
      labelled.set(sandbox, owner);
      left -= 1;
      tools.metrics.ownersUnlabelled(left);
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
