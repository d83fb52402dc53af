import { spawnSync } from 'node:child_process';
import { type Gateway, headersOf, urlOf } from './exchange.ts';
import { addressOf, type Route, routes } from './routes.ts';

/*
 * What this process holds in the fleet, and lets go when it ends. A rollout that is not finished ends with its lease, minutes
 * later. A process that ends in order, also by `process.exit`, an exception, SIGTERM or SIGINT, need not leave that: it deletes what it still
 * holds, within seconds. Only a synchronous child can still speak HTTP then.
 */

/** A scheduler that sends SIGTERM mostly kills after 30 s, some after 10. */
const atMostMs = 8_000;

/** A rollout that may hold a sandbox. */
export type Held = { readonly gateway: Gateway; readonly rolloutId: string; readonly attempt: number };

const held = new Set<Held>();
let isPrepared = false;

export const hold = (one: Held): void => void held.add(one);
export const isHeld = (one: Held): boolean => held.has(one);
export const letGo = (one: Held): void => void held.delete(one);

export const pathOf = (
  { rolloutId }: Held,
  route: Route,
  names: Readonly<Record<string, string>> = {},
): string => addressOf(route, { id: rolloutId, ...names });
export const queryOf = ({ attempt }: Held): Record<string, string> => ({ attempt: String(attempt) });

/** A handler of a signal that exists already stays: it ends the process in order. */
export function prepareToLeave(): void {
  if (isPrepared) return;
  isPrepared = true;
  process.once('exit', endAll);
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    if (process.listenerCount(signal) === 0) process.on(signal, onSignal);
}

/** Lets go, and then ends as it would have ended without this client: by the signal. */
function onSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  endAll();
  process.off(signal, onSignal);
  process.kill(process.pid, signal);
}

/** 32 at once, three tries each. A rollout that is not known may be on its way, so 404 is tried again. */
const program = `
import { readFileSync } from 'node:fs';
const left = JSON.parse(readFileSync(0, 'utf8'));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
async function end({ url, headers }) {
  for (let tries = 0; tries < 3; tries += 1) {
    const answer = await fetch(url, { method: 'DELETE', headers }).catch(() => null);
    if (answer !== null && answer.status < 500 && answer.status !== 404) return;
    await sleep(300);
  }
}
const worker = async () => { for (let one; (one = left.pop()) !== undefined; ) await end(one); };
await Promise.all(Array.from({ length: 32 }, worker));
`;

/** Deletes all that is held; returns when that is done or its time is up. The keys travel on stdin, where no other user reads them. */
function endAll(): void {
  const ends = [...held].map((one) => ({
    url: urlOf(one.gateway, { path: pathOf(one, routes.delete), query: queryOf(one) }),
    headers: headersOf(one.gateway),
  }));
  held.clear();
  if (ends.length === 0) return;
  const { error } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    input: JSON.stringify(ends),
    timeout: atMostMs,
    stdio: ['pipe', 'ignore', 'inherit'],
    // Options of this process, an inspector's port for example, are not the child's.
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  if (error !== undefined)
    process.stderr.write(`corral: ${ends.length} rollouts are left to their leases: ${error.message}\n`);
}
