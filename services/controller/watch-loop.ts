import type { ProviderEvent } from '#src/ports/sandbox-provider.ts';
import type { Loops } from './loops.ts';
import type { ControllerPorts } from './ports.ts';

/** A watch reconnects by itself; one that ended nevertheless is begun again after this. */
const watchAgainMs = 1_000;

/**
 * What the provider tells of its sandboxes, in the order in which it tells it. Everybody lives by it: a start hears that its
 * sandbox runs or cannot, and whatever removes sandboxes which of them are gone.
 *
 * Returns what is missing while the provider has not listed what exists, in words.
 */
export function watchProvider(
  { provider }: Pick<ControllerPorts, 'provider'>,
  loops: Loops,
  onEvent: (event: ProviderEvent) => void,
): () => readonly string[] {
  let listed = false;
  const note = (event: ProviderEvent) => {
    listed ||= event.kind === 'listed';
    onEvent(event);
  };
  loops.run('watch', watchAgainMs, (signal) => provider.watch(note, signal));
  return () => (listed ? [] : ['provider: it has not listed its sandboxes']);
}
