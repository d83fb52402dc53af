import type { SandboxId } from '../model/ids.ts';
import type { KnownSandboxes } from '../pool/known-sandboxes.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { eachOf } from '../waiting/each-of.ts';
import { askedAtOnce } from './ask.ts';
import { writeBack, type WriteBackTools } from './write-back.ts';

export type RecheckTools = WriteBackTools & {
  readonly provider: Pick<SandboxProvider, 'list'>;
  readonly known: KnownSandboxes;
};

/**
 * Sandboxes that did not answer during recovery are neither used nor destroyed: each may hold a rollout that runs. They
 * are asked again until they answer or the provider says that they are gone; then their rollouts are lost. What fleet
 * state knows meanwhile is noted, for the next time that it forgets.
 */
export function createRecheck(tools: RecheckTools): (signal: AbortSignal) => Promise<void> {
  const unsure = new Set<SandboxId>();
  tools.known.onKnown((sandbox, known) => {
    if (known !== null) tools.witness.note(sandbox, known);
    if (known?.phase === 'unsure') unsure.add(sandbox);
    else unsure.delete(sandbox);
  });

  return async (signal) => {
    await tools.known.read();
    if (unsure.size > 0) await askAgain(tools, [...unsure], signal);
  };
}

async function askAgain(
  tools: RecheckTools,
  unsure: readonly SandboxId[],
  signal: AbortSignal,
): Promise<void> {
  const listed = (await tools.provider.list()).filter((one) => one.phase !== 'gone');
  const provided = new Map(listed.map((one) => [one.sandbox, one]));
  await eachOf(unsure, askedAtOnce, async (sandbox) => {
    const there = provided.get(sandbox);
    const outcome = there === undefined ? 'gone' : await writeBack(tools, there, signal);
    if (outcome === 'unsure') return;
    // It answers and is nobody's any more: no longer unsure, and the garbage collection's to decide.
    if (outcome === 'gone' || outcome === 'stranger') await tools.store.markGone(sandbox);
    tools.log.info('a sandbox is no longer unsure', { sandbox, became: outcome });
  });
}
