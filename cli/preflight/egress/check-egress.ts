import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { askNative, type HttpClient } from '#cli/gateway/http-client.ts';
import { clusterDefaults } from '#src/model/cluster.ts';
import type { Item } from '#src/model/grader.ts';
import { CallAnswer } from '#src/protocol/native/calls.ts';
import { type Check, tryOut } from '../check.ts';
import { type Address, lookAroundArgv, type Seen, type Surroundings } from './look-around.ts';

type EgressUnderTest = {
  readonly client: HttpClient;
  readonly environment: string;
  readonly network: string;
  readonly item: Item;
  /** Distinguishes its two rollouts from all others. */
  readonly rolloutId: string;
  /** In addition to the other sandbox, whose address only that sandbox knows. */
  readonly targets: readonly Target[];
};

const SurroundingsTold = Type.Object({
  addresses: Type.Array(Type.String()),
  listening: Type.Array(Type.Number()),
  seen: Type.Array(Type.String()),
});

/** What a sandbox of the environment reaches of what none should: another sandbox, the API server, what was listed. */
export async function checkEgress(
  under: EgressUnderTest,
): Promise<{ readonly check: Check; readonly egress: Egress | null }> {
  let egress: Egress | null = null;
  const check = await tryOut(under.environment, 'egress', async () => {
    egress = await lookOut(under);
    return judgeEgress(egress, under.network);
  });
  return { check, egress };
}

async function lookOut(under: EgressUnderTest): Promise<Egress> {
  const [from, other] = ['from', 'other'].map((name) => sandboxOf(under, `${under.rolloutId}-${name}`));
  if (from === undefined || other === undefined) throw new TypeError('two sandboxes');
  try {
    await Promise.all([from.open(), other.open()]);
    const targets = [...under.targets, ...neighbour(await other.lookAround([]))];
    const { seen } = await from.lookAround(targets.map(({ address }) => address));
    return egressOf(targets, seen);
  } finally {
    await Promise.allSettled([from.close(), other.close()]);
  }
}

/** sandboxd listens there; a sandbox without a network has no address. */
function neighbour({ addresses, listening }: Surroundings): readonly Target[] {
  const port = listening[0] ?? clusterDefaults.port;
  return addresses.map((host) => ({ what: 'another sandbox', address: { host, port } }));
}

function sandboxOf({ client, environment, item }: EgressUnderTest, rolloutId: string) {
  const path = `/v1/rollouts/${encodeURIComponent(rolloutId)}`;
  const ask = <Schema extends TSchema>(to: string, body: object, schema: Schema): Promise<Static<Schema>> =>
    askNative(client, { method: 'POST', path: to, body, deadlineMs }, schema);
  return {
    open: () => ask('/v1/rollouts', { rollout_id: rolloutId, environment, item }, Type.Object({})),
    lookAround: async (targets: readonly Address[]) => {
      const body = { call_id: 'look-around', argv: lookAroundArgv(targets), timeout_s: 30 };
      return readSurroundings(await ask(`${path}/exec?wait_s=${waitS}`, body, CallAnswer));
    },
    close: () => client.send({ method: 'DELETE', path }),
  };
}

/** A cold start with its pull. If only one sandbox may exist at a time, the second never comes. */
const waitS = 120;
const deadlineMs = (waitS + 30) * 1000;

function readSurroundings({ outcome, exit_code, stdout, stderr }: CallAnswer): Surroundings {
  const told: unknown = exit_code === 0 ? JSON.parse(stdout) : null;
  if (Value.Check(SurroundingsTold, told)) return told;
  const [line = ''] = stderr.trim().split('\n');
  throw new Error(`the probe did not run in the sandbox: ${outcome}, exit code ${exit_code}: ${line}`);
}

/** Something that a sandbox without a network must not reach, and what it is to a person: `the API server`. */
export type Target = { readonly what: string; readonly address: Address };

type Tried = { readonly what: string; readonly address: string; readonly seen: Seen };

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

const addressText = ({ host, port }: Address): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
