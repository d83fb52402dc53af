import type { TemplateDigest } from '../model/ids.ts';
import { asFailure } from '../failure/failure.ts';
import { type Owner, rolloutKey } from '../model/rollout.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';
import type { LifecycleStore } from '../ports/fleet/lifecycle.ts';
import type { FoundRollout, RecoveryStore } from '../ports/fleet/recovery.ts';
import type { Log } from '../ports/log.ts';
import type { ProvidedSandbox } from '../ports/sandbox-provider.ts';
import { ask, type AskTools } from './ask.ts';
import { type Finding, judge } from './judge.ts';
import type { Witness } from './witness.ts';

export type WriteBackTools = AskTools & {
  readonly store: RecoveryStore;
  readonly claims: Pick<ClaimStore, 'find'>;
  readonly lifecycle: Pick<LifecycleStore, 'lose'>;
  readonly witness: Witness;
  readonly log: Log;
  /** Templates that this fleet still has a use for. */
  readonly knownTemplates: () => ReadonlySet<TemplateDigest>;
};

/** What became of a sandbox that was asked. */
export type WrittenBack = 'live' | 'ready' | 'given_up' | 'unsure' | 'stranger' | 'late';

/**
 * Asks one sandbox and writes down what it is. Throws what may be over when it is tried again; one that makes us stumble
 * every time is unsure, for it must not keep the whole fleet waiting.
 */
export async function writeBack(
  tools: WriteBackTools,
  provided: ProvidedSandbox,
  signal: AbortSignal,
): Promise<WrittenBack> {
  let finding: Finding = { kind: 'unsure', owner: provided.owner };
  try {
    finding = judge(provided, await ask(tools, provided, signal), tools.knownTemplates());
    return await write(tools, provided, finding);
  } catch (thrown) {
    const { code, message, retry } = asFailure(thrown);
    if (retry !== 'no') throw thrown;
    const { sandbox } = provided;
    tools.log.error('a sandbox could not be written back', { sandbox, code, error: message });
    return doubt(tools, provided, finding.kind === 'rollout' ? finding.rollout.owner : provided.owner);
  }
}

async function write(
  tools: WriteBackTools,
  provided: ProvidedSandbox,
  finding: Finding,
): Promise<WrittenBack> {
  switch (finding.kind) {
    case 'rollout':
      return restore(tools, finding.rollout);
    case 'ready':
      await tools.store.restoreReady(finding.sandbox);
      return 'ready';
    case 'unsure':
      return doubt(tools, provided, finding.owner);
    case 'stranger':
      return 'stranger';
  }
}

async function doubt(
  { store, witness }: WriteBackTools,
  provided: ProvidedSandbox,
  owner: Owner | null,
): Promise<'unsure'> {
  const whose = owner === null ? witness.whoWasIn(provided.sandbox) : rolloutKey(owner);
  await store.markUnsure(provided.sandbox, provided.template, whose);
  return 'unsure';
}

async function restore(tools: WriteBackTools, found: FoundRollout): Promise<WrittenBack> {
  const restored = await tools.store.restoreRollout(found);
  if (restored !== 'two_lives') return restored;
  await loseOther(tools, found);
  const again = await tools.store.restoreRollout(found);
  return again === 'two_lives' ? 'unsure' : again;
}

/**
 * Its rollout was opened anew while it did not answer. What the rollout is now in has half of its state, so it is lost,
 * with whatever this one knows.
 */
async function loseOther(
  { claims, lifecycle }: WriteBackTools,
  { owner, sandbox }: FoundRollout,
): Promise<void> {
  const record = await claims.find(owner, owner.attempt);
  if (record === null || record.epoch === null) return;
  const evidence = { observed: 'calls of it had run in another sandbox, which now answers', other: sandbox };
  await lifecycle.lose(record.epoch.sandbox, null, 'pod_replaced', evidence);
}
