import { CorralError, Discarded, Unavailable } from './errors.ts';
import { exchange } from './exchange.ts';
import { type Held, letGo, pathOf, queryOf } from './leaving.ts';
import { readOpened } from './results.ts';
import { routes } from './routes.ts';
import { type Answer, saidAtMs } from './transport.ts';

/*
 * Keeps a rollout's lease while the trainer thinks: a model's turn may be longer than the time that a rollout may be idle. A
 * heartbeat that fails harms nothing: if the rollout is gone, its next call says so.
 */

/** The lease of a run is five minutes, and any heartbeat of its rollouts renews it; two in a row may be lost. */
const longestPeriodS = 90;
const shortestPeriodS = 0.5;
/** A finished program does not wait longer for a gateway that is away. */
const deletePatienceS = 30;
/** Heartbeats at once: 512 rollouts renew their leases within seconds, and never with 512 sockets. */
const beatsAtOnce = 4;

/** How long the lease still lasts. Both times are the gateway's, so this machine's clock may be wrong. */
export function leaseSOf(leaseUntil: string, { headers }: Answer): number {
  const leaseS = (Date.parse(leaseUntil) - saidAtMs(headers)) / 1000;
  return Number.isNaN(leaseS) ? longestPeriodS : leaseS;
}

const periodS = (leaseS: number) => Math.min(longestPeriodS, Math.max(shortestPeriodS, leaseS / 3));

/** Until the rollout is over, or has been collected: then it is deleted. */
export async function keepAlive(
  rollout: WeakRef<{ readonly isOver: boolean }>,
  held: Held,
  firstLeaseS: number,
): Promise<void> {
  let leaseS = firstLeaseS;
  for (;;) {
    await quietSleep(periodS(leaseS));
    const isOver = rollout.deref()?.isOver;
    if (isOver === undefined) return deleteForgotten(held);
    if (isOver) return;
    const renewedS = await beat(held, periodS(leaseS));
    if (renewedS === null) return;
    leaseS = renewedS;
  }
}

/** A program that has nothing else to do may end. */
const quietSleep = (seconds: number) =>
  new Promise<void>((resolve) => void setTimeout(resolve, seconds * 1000).unref());

/** The new lease; null: the rollout is gone. A mistake of the job, such as a key that is being rotated, may be over by the next one. */
async function beat(held: Held, patienceS: number): Promise<number | null> {
  const path = pathOf(held, routes.heartbeat);
  const release = await turn();
  try {
    const asked = { route: routes.heartbeat, path, query: queryOf(held), patienceS };
    const { body, answer } = await exchange(held.gateway, asked);
    return leaseSOf(readOpened(body).leaseUntil, answer);
  } catch (error) {
    if (error instanceof Unavailable) return 0;
    return error instanceof Discarded ? null : longestPeriodS;
  } finally {
    release();
  }
}

async function deleteForgotten(held: Held): Promise<void> {
  try {
    const path = pathOf(held, routes.delete);
    await exchange(held.gateway, {
      route: routes.delete,
      path,
      query: queryOf(held),
      patienceS: deletePatienceS,
    });
  } catch (error) {
    // The end of the process tries again.
    if (error instanceof Unavailable || !(error instanceof CorralError)) return;
  }
  letGo(held);
}

let beating = 0;
const next: (() => void)[] = [];

/** Resolves to what ends the turn. */
async function turn(): Promise<() => void> {
  if (beating >= beatsAtOnce) await new Promise<void>((resolve) => void next.push(resolve));
  else beating += 1;
  return () => {
    const following = next.shift();
    if (following === undefined) beating -= 1;
    else following();
  };
}
