import type { TemplateDigest } from '../model/ids.ts';
import { rolloutKey } from '../model/rollout.ts';
import type { RecoveryStore } from '../ports/fleet/recovery.ts';
import type { SandboxLink } from '../ports/sandbox-link.ts';
import type { ProvidedSandbox } from '../ports/sandbox-provider.ts';
import { ask } from './ask.ts';
import { judge } from './judge.ts';

export type WriteBackTools = {
  readonly store: RecoveryStore;
  readonly link: Pick<SandboxLink, 'identity'>;
  /** Templates that this fleet still has a use for. */
  readonly knownTemplates: () => ReadonlySet<TemplateDigest>;
};

/** What became of a sandbox that was asked. */
export type WrittenBack = 'live' | 'ready' | 'given_up' | 'unsure' | 'stranger' | 'late';

/** Asks one sandbox and writes down what it is. Throws what fleet state throws. */
export async function writeBack(
  { store, link, knownTemplates }: WriteBackTools,
  provided: ProvidedSandbox,
  signal: AbortSignal,
): Promise<WrittenBack> {
  const finding = judge(provided, await ask(link, provided, signal), knownTemplates());
  switch (finding.kind) {
    case 'rollout':
      return store.restoreRollout(finding.rollout);
    case 'ready':
      await store.restoreReady(finding.sandbox);
      return 'ready';
    case 'unsure': {
      const owner = finding.owner === null ? null : rolloutKey(finding.owner);
      await store.markUnsure(provided.sandbox, provided.template, owner);
      return 'unsure';
    }
    case 'stranger':
      return 'stranger';
  }
}
