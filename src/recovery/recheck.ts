import { eachOf } from '../waiting/each-of.ts';
import type { PoolStore } from '../ports/fleet/pool.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { askedAtOnce } from './ask.ts';
import { writeBack } from './write-back.ts';
import type { WriteBackTools } from './write-back.ts';

export type RecheckTools = WriteBackTools & {
  readonly provider: Pick<SandboxProvider, 'list'>;
  readonly pool: Pick<PoolStore, 'known'>;
};

/**
 * Sandboxes that did not answer during recovery are neither used nor destroyed: each may hold a rollout that runs. They
 * are asked again until they answer or the provider says that they are gone; then their rollouts are lost. What fleet
 * state knows meanwhile is noted, for the next time that it forgets.
 */
export async function recheckUnsure(tools: RecheckTools, signal: AbortSignal): Promise<void> {
  const known = await tools.pool.known();
  tools.witness.note(known);
  const unsure = [...known].filter(([, { phase }]) => phase === 'unsure');
  if (unsure.length === 0) return;
  const listed = (await tools.provider.list()).filter((one) => one.phase !== 'gone');
  const provided = new Map(listed.map((one) => [one.sandbox, one]));
  await eachOf(unsure, askedAtOnce, async ([sandbox]) => {
    const there = provided.get(sandbox);
    const became = there === undefined ? 'gone' : await writeBack(tools, there, signal);
    if (became === 'unsure') return;
    // It answers and is nobody's any more: no longer unsure, and the garbage collection's to decide.
    if (became === 'gone' || became === 'stranger') await tools.store.markGone(sandbox);
    tools.log.info('a sandbox is no longer unsure', { sandbox, became });
  });
}
