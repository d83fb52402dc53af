import { recheckUnsure } from '../../src/recovery/recheck.ts';
import { recover } from '../../src/recovery/recover.ts';
import type { Loops } from './loops.ts';
import type { PlanBook } from './plan-book.ts';
import type { ControllerPorts } from './ports.ts';

/** While Redis is another one than the fleet's, everybody waits: looked at often, for it costs one script. */
const recoverMs = 500;
/** Their rollouts' requests are held meanwhile; a sandbox that was only slow is back after one of these. */
const recheckMs = 1_000;

/** Makes a new Redis the fleet's, with what the sandboxes know; until then fleet state answers nobody. */
export function createRecovery(ports: ControllerPorts, loops: Loops, book: PlanBook): void {
  const knownTemplates = () => new Set(book.plans().keys());
  const tools = { ...ports, store: ports.recovery, knownTemplates };
  loops.run('recover', recoverMs, async (signal) => {
    const recovered = await recover(tools, signal);
    if (recovered !== null) await book.publishAgain();
  });
  loops.run('unsure', recheckMs, (signal) => recheckUnsure(tools, signal));
}
