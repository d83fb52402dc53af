import type { SandboxId } from '../model/ids.ts';
import { asFailure } from '../failure/failure.ts';
import { rolloutKey } from '../model/rollout.ts';
import { eachOf } from '../pool/each-of.ts';
import type { LifecycleStore } from '../ports/fleet/lifecycle.ts';
import type { KeptSandbox } from '../ports/fleet/recovery.ts';
import type { Log } from '../ports/log.ts';
import type { ProvidedSandbox, SandboxProvider } from '../ports/sandbox-provider.ts';
import { writeBack } from './write-back.ts';
import type { WriteBackTools, WrittenBack } from './write-back.ts';

export type RecoverTools = WriteBackTools & {
  readonly provider: Pick<SandboxProvider, 'list'>;
  readonly lifecycle: Pick<LifecycleStore, 'lose'>;
  readonly log: Log;
};

/** Sandboxes asked at once: a fleet of 64 in one go, and no burst of connections in a large one. */
const width = 64;

/**
 * Redis was restarted, emptied, or replaced by a replica that may have missed the last second, and until somebody has
 * written back what it forgot, everybody is answered `recovering`:
 *
 *   another Redis ──▶ list the provider ──▶ ask every sandbox ──▶ write back ──▶ adopt ──▶ claims go on
 *
 * Whatever Redis has kept stays, except where a sandbox or the provider knows better: an answer adds what was missed,
 * and a sandbox that is not in the list is gone. So it is all the same whether Redis kept everything, something or
 * nothing. Any number of controllers may do it at once.
 *
 * Returns how many sandboxes became what, or null when there was nothing to do. Throws what provider and fleet state
 * throw; then nothing is adopted and it is to be tried again.
 */
export async function recover(
  tools: RecoverTools,
  signal: AbortSignal,
): Promise<Readonly<Partial<Record<WrittenBack, number>>> | null> {
  const kept = await tools.store.kept();
  if (kept === null) return null;
  const provided = (await tools.provider.list()).filter((one) => one.phase !== 'gone');
  const missing = missingOf(kept, provided);
  for (const [sandbox] of missing) await tools.store.markGone(sandbox);

  const sums: Partial<Record<WrittenBack, number>> = {};
  await eachOf(provided, width, async (one) => {
    const became = await writeBackOrDoubt(tools, one, signal);
    sums[became] = (sums[became] ?? 0) + 1;
  });
  signal.throwIfAborted();
  await tools.store.adopt();
  await loseOwners(tools, missing);
  tools.log.info('this Redis now holds the fleet', { ...sums });
  return sums;
}

/** One sandbox that makes us stumble must not keep the whole fleet waiting. */
async function writeBackOrDoubt(
  tools: RecoverTools,
  provided: ProvidedSandbox,
  signal: AbortSignal,
): Promise<WrittenBack> {
  try {
    return await writeBack(tools, provided, signal);
  } catch (thrown) {
    const { code, message, retry } = asFailure(thrown);
    if (retry !== 'no') throw thrown;
    tools.log.error('a sandbox could not be written back', {
      sandbox: provided.sandbox,
      code,
      error: message,
    });
    await tools.store.markUnsure(provided.sandbox, provided.template, ownerKey(provided));
    return 'unsure';
  }
}

const ownerKey = ({ owner }: ProvidedSandbox) => (owner === null ? null : rolloutKey(owner));

type Kept = readonly (readonly [SandboxId, KeptSandbox])[];

/** A start under way is not in the list yet, and what is draining may have left it: both have their own end. */
function missingOf(kept: ReadonlyMap<SandboxId, KeptSandbox>, provided: readonly ProvidedSandbox[]): Kept {
  const there = new Set(provided.map((one) => one.sandbox));
  const settled = new Set(['ready', 'unsure']);
  return [...kept].filter(([sandbox, { phase }]) => settled.has(phase) && !there.has(sandbox));
}

/** Rollouts whose sandbox ended while nobody could be told, through the one door of loss. */
async function loseOwners({ lifecycle, log }: RecoverTools, missing: Kept): Promise<void> {
  for (const [sandbox, { owner }] of missing) {
    if (owner === null) continue;
    const evidence = { observed: 'no longer listed by the provider when Redis was replaced' };
    const effect = await lifecycle.lose(sandbox, null, 'deleted', evidence);
    log.warn('sandbox lost', { sandbox, cause: 'deleted', effect: effect.kind, rollout: owner });
  }
}
