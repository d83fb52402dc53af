import { createRecheck } from '#src/recovery/recheck.ts';
import { recover } from '#src/recovery/recover.ts';
import type { KnownSandboxes } from '#src/pool/known-sandboxes.ts';
import { Witness } from '#src/recovery/witness.ts';
import type { Loops } from './loops.ts';
import type { PlanBook } from './plan-book.ts';
import type { ControllerPorts } from './ports.ts';

/** While Redis is another one than the fleet's, everybody waits: looked at often, for it costs one script. */
const recoverMs = 500;
/**
 * Rollouts' requests are held for unsure sandboxes; one that was only slow is back after one of these. It is also how
 * long a rollout may be in a sandbox before this controller has seen it there.
 */
const recheckMs = 1_000;

/** Makes a new Redis the fleet's, with what the sandboxes know; until then fleet state answers nobody. */
export function createRecovery(
  ports: ControllerPorts,
  loops: Loops,
  { book, known }: { readonly book: PlanBook; readonly known: KnownSandboxes },
): void {
  const knownTemplates = () => new Set(book.plans().keys());
  const tools = { ...ports, store: ports.recovery, knownTemplates, known, witness: new Witness() };
  loops.run('recover', recoverMs, async (signal) => {
    const startMs = ports.tracer.nowMs();
    const recovered = await recover(tools, signal);
    if (recovered === null) return;
    ports.tracer.start('recover', { startMs, attributes: { 'corral.sandboxes': sum(recovered) } }).end();
    await book.publishAgain();
  });
  loops.run('unsure', recheckMs, createRecheck(tools));
}

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((total, count) => total + count, 0);
