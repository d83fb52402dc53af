import { drawBetween, drawOne } from '../load-model/distributions.ts';
import type { FaultDone } from '../trainer/faults-seen.ts';
import {
  type Fault,
  type FaultWorld,
  killBound,
  killCalling,
  killController,
  killGateway,
  killNode,
  killOtherGateway,
  killRedis,
  killUnbound,
  killWave,
  stopForSeconds,
} from './faults.ts';

/** Most faults hit one rollout; those that hit everybody are rarer, or a soak would learn of nothing else. */
const faults = [
  [killCalling, 0.26],
  [killBound, 0.2],
  [killWave, 0.03],
  [killUnbound, 0.15],
  [stopForSeconds, 0.15],
  [killController, 0.07],
  [killRedis, 0.03],
  [killNode, 0.01],
  [killGateway, 0.05],
  [killOtherGateway, 0.05],
] as const satisfies readonly (readonly [Fault, number])[];

/** A random fault every few seconds. */
const pauseMs = { least: 1_000, most: 5_000 };

/** Does damage until it is told to stop; tells each fault, and resolves with all of them when the last is over. */
export async function sabotage(
  world: FaultWorld,
  stopping: AbortSignal,
  tell: (fault: FaultDone) => void,
): Promise<readonly FaultDone[]> {
  const done: FaultDone[] = [];
  while (!stopping.aborted) {
    await world.clock.sleep(drawBetween(world.random, pauseMs.least, pauseMs.most), stopping);
    if (stopping.aborted) break;
    const struck = await drawOne<Fault>(world.random, faults).strike(world);
    for (const fault of struck) {
      done.push(fault);
      tell(fault);
    }
  }
  return done;
}
