import { minReady } from '../environment.ts';
import type { World } from '../world.ts';

/** What has not come to rest yet, in words; null when every rollout is over and the pool is as it should be. */
export function restless(world: World): string | null {
  if (!world.allEnded) return `the platform still waits for ${waitsFor(world)}`;
  const { rollouts, left } = world.redis.scripts.state;
  const sandboxes = answering(world);
  for (const { key, state, inFlight } of rollouts.values()) {
    if (state !== 'closed' && state !== 'expired') return `rollout ${key} is still ${state}`;
    if (inFlight > 0) return `rollout ${key} has ${inFlight} calls in flight after its end`;
  }
  if (left.leases + left.grants + left.waiters + left.starts > 0)
    return `left behind: ${JSON.stringify(left)}`;
  for (const { sandbox, phase } of sandboxes) if (phase !== 'ready') return `sandbox ${sandbox} is ${phase}`;
  if (sandboxes.length !== minReady) return `${sandboxes.length} sandboxes are ready, not ${minReady}`;
  const known = world.redis.scripts.state.sandboxes;
  const strangers = world.engine.sandboxes.filter(
    (sandbox) => !known.has(sandbox) && answers(world, sandbox),
  );
  if (strangers.length > 0)
    return `the engine still has ${strangers.join(', ')}, which fleet state does not know`;
  if (world.queue.depth > 0) return `${world.queue.depth} launches are left`;
  return null;
}

/** But for those that never say whose they are: they are left alone until the engine says that they are gone. */
function answering(world: World) {
  const known = [...world.redis.scripts.state.sandboxes.values()];
  return known.filter(({ sandbox, phase }) => phase !== 'unsure' || answers(world, sandbox));
}

/** A stranger that never does may be a rollout's that nobody knows: it is left for as long as one may live. */
function answers(world: World, sandbox: string): boolean {
  return world.sandboxes.find(sandbox)?.stalledUntilMs !== Infinity;
}

function waitsFor(world: World): string {
  return world.planned
    .filter(({ name }) => !world.ledger.endings.has(name))
    .map(({ name }) => name)
    .join(', ');
}
