import type { SandboxId } from '../model/ids.ts';
import type { RolloutKey } from '../model/rollout.ts';
import { eachOf } from '../waiting/each-of.ts';
import type { KeptSandbox } from '../ports/fleet/recovery.ts';
import type { ProvidedSandbox, SandboxProvider } from '../ports/sandbox-provider.ts';
import { askedAtOnce } from './ask.ts';
import { writeBack, type WriteBackTools, type WrittenBack } from './write-back.ts';
import type { Witness } from './witness.ts';
import type { KnownSandboxes } from '../pool/known-sandboxes.ts';

type RecoverTools = WriteBackTools & {
  readonly provider: Pick<SandboxProvider, 'list'>;
};

/**
 * Redis was restarted, emptied, or replaced by a replica that may have missed the last second, and until somebody has
 * written back what it forgot, everybody is answered `recovering`:
 *
 *   another Redis ──▶ list the provider ──▶ ask every sandbox ──▶ write back ──▶ mark the lost ──▶ adopt ──▶ claims go on
 *
 * Whatever Redis has kept stays, except where a sandbox or the provider knows better: an answer adds what was missed,
 * and a sandbox that is not in the list is gone. So it is all the same whether Redis kept everything, something or
 * nothing. Any number of controllers may do it at once. Where that Redis is replaced as well, all of it begins again.
 *
 * A rollout whose sandbox is gone has nobody to tell of it but who has seen it there; it is marked, so that its next call
 * does not open it again as if nothing had been.
 *
 * Returns how many sandboxes were written back as what, or null when there was nothing to do. Throws what provider and fleet state
 * throw; then nothing is adopted and it is to be tried again.
 */
export async function recover(
  tools: RecoverTools,
  signal: AbortSignal,
): Promise<Readonly<Partial<Record<WrittenBack, number>>> | null> {
  const kept = await tools.store.kept();
  if (kept === null) return null;
  const provided = (await tools.provider.list()).filter((one) => one.phase !== 'gone');
  const missing = missingOf(kept.sandboxes, provided);
  for (const [sandbox] of missing) await tools.store.markGone(sandbox);

  const writtenBack = new Map<SandboxId, WrittenBack>();
  await eachOf(provided, askedAtOnce, async (one) => {
    writtenBack.set(one.sandbox, await writeBack(tools, one, signal));
  });
  signal.throwIfAborted();
  await tools.store.markLost(lostOf(tools.witness, writtenBack));
  await tools.store.adopt(kept.redis);
  await loseOwners(tools, missing);
  const sums = sumsOf(writtenBack);
  tools.log.info('this Redis now holds the fleet', { ...sums });
  return sums;
}

/** Seen in a sandbox that is not there any more, or has forgotten them: it is another life of it. */
function lostOf(
  { lastSeen }: Witness,
  writtenBack: ReadonlyMap<SandboxId, WrittenBack>,
): readonly RolloutKey[] {
  const lost = [...lastSeen].filter(([, sandbox]) => (writtenBack.get(sandbox) ?? 'stranger') === 'stranger');
  return lost.map(([rollout]) => rollout);
}

function sumsOf(writtenBack: ReadonlyMap<SandboxId, WrittenBack>) {
  const sums: Partial<Record<WrittenBack, number>> = {};
  for (const kind of writtenBack.values()) sums[kind] = (sums[kind] ?? 0) + 1;
  return sums;
}

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

type RecheckTools = WriteBackTools & {
  readonly provider: Pick<SandboxProvider, 'list'>;
  readonly known: KnownSandboxes;
};

/**
 * Sandboxes that did not answer during recovery are asked again until they answer or the provider says that they are
 * gone; then their rollouts are lost. An unsure one is neither used nor destroyed, because it may hold a rollout that
 * runs; one whose rollout Redis has kept goes on, and its grade waits for its journal. What fleet state knows meanwhile is
 * noted, for the next time that it forgets.
 */
export function createRecheck(tools: RecheckTools): (signal: AbortSignal) => Promise<void> {
  const silent = new Set<SandboxId>();
  tools.known.onKnown((sandbox, known) => {
    if (known !== null) tools.witness.note(sandbox, known);
    if (known?.phase === 'unsure' || known?.journalUnread === true) silent.add(sandbox);
    else silent.delete(sandbox);
  });

  return async (signal) => {
    await tools.known.read();
    if (silent.size > 0) await askAgain(tools, [...silent], signal);
  };
}

async function askAgain(
  tools: RecheckTools,
  silent: readonly SandboxId[],
  signal: AbortSignal,
): Promise<void> {
  const listed = (await tools.provider.list()).filter((one) => one.phase !== 'gone');
  const provided = new Map(listed.map((one) => [one.sandbox, one]));
  await eachOf(silent, askedAtOnce, async (sandbox) => {
    const there = provided.get(sandbox);
    const outcome = there === undefined ? 'gone' : await writeBack(tools, there, signal);
    if (outcome === 'unsure') return;
    // It answers and is nobody's any more: no longer unsure, and the garbage collection's to decide.
    if (outcome === 'gone' || outcome === 'stranger') await tools.store.markGone(sandbox);
    tools.log.info('silent sandbox answered', { sandbox, became: outcome });
  });
}
