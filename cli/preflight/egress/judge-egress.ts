import type { Address, Seen } from './look-around.ts';

/** Something that a sandbox without a network must not reach, and what it is to a person: `the API server`. */
export type Target = { readonly what: string; readonly address: Address };

export type Tried = { readonly what: string; readonly address: string; readonly seen: Seen };

export type Egress = { readonly state: 'closed' | 'open'; readonly tried: readonly Tried[] };

/** An answer is an answer, also "nothing listens here": the packets got there and back. */
const reached: ReadonlySet<Seen> = new Set<Seen>(['connected', 'ECONNREFUSED', 'ECONNRESET']);

/** `seen` in the order of the targets. One that was reached is enough for `open`. */
export function egressOf(targets: readonly Target[], seen: readonly Seen[]): Egress {
  const tried = targets.map(({ what, address }, index) => ({
    what,
    address: addressText(address),
    seen: seen[index] ?? 'silence',
  }));
  return { state: tried.some(isReached) ? 'open' : 'closed', tried };
}

/** In order is what was promised: without a network everything is closed; a class opens what the operator wrote. */
export function judgeEgress({ state, tried }: Egress, network: string) {
  const got = tried.filter(isReached);
  const said = (state === 'open' ? got : tried).map(sentence).join('; ');
  const detail = `${state}: ${said === '' ? 'it has no address but its own' : said}`;
  if (state === 'closed' || network !== 'none')
    return { ok: true, detail: `${detail} (network: ${network})` };
  return { ok: false, detail: `${detail}; with network: none nothing may be reached: ${advice}` };
}

const advice = 'does the cluster’s network plugin enforce NetworkPolicy, and were the manifests applied?';

const isReached = ({ seen }: Tried): boolean => reached.has(seen);

const words: Readonly<Record<string, string>> = {
  connected: 'was reached',
  silence: 'did not answer',
  ECONNREFUSED: 'was reached and refused',
  ECONNRESET: 'was reached and hung up',
};

const sentence = ({ what, address, seen }: Tried): string =>
  `${what} (${address}) ${words[seen] ?? `was not reached (${seen})`}`;

export const addressText = ({ host, port }: Address): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
