import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { atMost, atMostInRounds, type Benchmark, type Figure, median, type Round } from './figures.ts';
import { type PlayedProcesses, startPlayedProcesses } from './played-processes.ts';
import { residentBytes } from './processes.ts';
import { processMs } from './processors.ts';

const held = 1_000;
const holdS = 10;
const rounds = 5;
/** From here to the end of the middle of a hold everybody has arrived, and nobody has been answered. */
const arrivedMs = 3_000;
const middleMs = 9_000;
/** A client keeps a connection that is not used for some seconds. */
const closedMs = 8_000;
const kibibyte = 1024;

/**
 * A rollout that waits for a sandbox against a request that Fastify holds for as long and does nothing for: a thousand of
 * each in the same seconds, to the real gateway, whose pool may have nothing, and to a process of Fastify alone. A bare one
 * costs nothing a second, so the yardstick is all of it: taken in, held for ten seconds, answered 503. Against that stand
 * what ten seconds of waiting cost ours, without Redis and with it, as the middle of the hold shows them; and all of ours, in
 * which finding, admitting and lining up the rollout are more than the wait.
 */
export const waiting: Benchmark = {
  name: 'waiting',
  run: async (say, runs) => {
    say('starting a gateway over a pool that may have nothing, and Fastify alone');
    const environmentsDir = join(import.meta.dirname, 'cost-curve/environments');
    await using played = await startPlayedProcesses({ environmentsDir, pool: { full: { max: 0 } }, say });
    await played.begin('controller', 'gateway');
    await using bare = await startBare();
    await using client = createClient();
    await openRollouts(client, played, bare.url);
    const ours = { url: played.gatewayUrl, key: played.apiKey };
    const floor = { url: bare.url, key: '' };
    const both = (waitS: number) => [client.hold(ours, waitS), client.hold(floor, waitS)] as const;
    const growth = await memoryOf(played.pidOf('gateway'), bare.pid, both);
    const measured: Measured[] = [];
    for (let round = 0; round <= (runs ?? rounds); round += 1) {
      say(`${held} requests held for ${holdS} s by each, ${round} of ${runs ?? rounds}`);
      const costs = await measure(played, bare.pid, both);
      // The first is for what is compiled and connected once.
      if (round > 0) measured.push(costs);
    }
    tell(measured, say);
    const ofWait = ({ second }: Measured, who: keyof Costs) => second[who] * holdS;
    const against = (what: string, value: (costs: Measured) => number): Figure => {
      const pairs = measured.map((costs) => ({ value: value(costs), floor: costs.whole.bare }));
      return atMostInRounds({ what: `${what} ÷ a bare one, whole`, unit: 'µs', rounds: pairs }, 1.5);
    };
    return [
      against(`gateway for ${holdS} s of a held request`, (costs) => ofWait(costs, 'gateway')),
      against(
        `gateway and Redis for ${holdS} s of a held request`,
        (costs) => ofWait(costs, 'gateway') + ofWait(costs, 'redis'),
      ),
      against('gateway for a held request, whole', ({ whole }) => whole.gateway),
      atMost({ what: 'memory of a held request in a gateway', unit: 'KiB', ...growth }, 1.5),
    ];
  },
};

type Both = (waitS: number) => readonly Promise<void>[];
/** Microseconds of processor for a request. */
type Costs = { readonly gateway: number; readonly redis: number; readonly bare: number };
type Measured = {
  /** Of one that is held, from its coming to its answer; and of a second in the middle of that. */
  readonly whole: Costs;
  readonly second: Costs;
};

async function measure(played: PlayedProcesses, bare: number, both: Both): Promise<Measured> {
  const spentNow = async () => ({ ...(await played.spent()), bare: await processMs(bare) });
  // The connections of the round before are closed in this time, which is no cost of idleness.
  await sleep(closedMs);
  /** What the same seconds cost while nobody asks is taken off. */
  const anyway = await during(spentNow, () => sleep(holdS * 1_000));
  const more = ({ spent, seconds }: During): Costs => {
    const us = (of: keyof Costs) =>
      ((spent[of] - (anyway.spent[of] * seconds) / anyway.seconds) * 1_000) / held;
    return { gateway: us('gateway'), redis: us('redis'), bare: us('bare') };
  };
  let middle: During | null = null;
  const whole = await during(spentNow, async () => {
    const requests = both(holdS);
    await sleep(arrivedMs);
    middle = await during(spentNow, () => sleep(middleMs - arrivedMs));
    await Promise.all(requests);
  });
  if (middle === null) throw new Error('the hold had no middle');
  const { seconds } = middle as During;
  const inMiddle = more(middle);
  const perSecond = (of: keyof Costs) => inMiddle[of] / seconds;
  const second = { gateway: perSecond('gateway'), redis: perSecond('redis'), bare: perSecond('bare') };
  return { whole: more(whole), second };
}

/**
 * KiB that each process has more while it holds the first of them, connections included; only of the first, because what
 * a process once had it seldom gives back. Both have answered as many before, one after another.
 */
async function memoryOf(gateway: number, bare: number, both: Both): Promise<Round> {
  const resident = async () => ({ value: await residentBytes(gateway), floor: await residentBytes(bare) });
  const before = await resident();
  const requests = both(holdS);
  await sleep(middleMs);
  const full = await resident();
  await Promise.all(requests);
  const more = (of: keyof Round) => (full[of] - before[of]) / kibibyte / held;
  return { value: more('value'), floor: more('floor') };
}

type Spending = Readonly<Record<keyof Costs, number>>;
type During = { readonly spent: Spending; readonly seconds: number };

async function during(spentNow: () => Promise<Spending>, work: () => Promise<unknown>): Promise<During> {
  const [before, beganMs] = [await spentNow(), performance.now()];
  await work();
  const after = await spentNow();
  const of = (who: keyof Spending) => after[who] - before[who];
  const spent = { gateway: of('gateway'), redis: of('redis'), bare: of('bare') };
  return { spent, seconds: (performance.now() - beganMs) / 1_000 };
}

function tell(measured: readonly Measured[], say: (line: string) => void): void {
  for (const who of ['gateway', 'redis', 'bare'] as const) {
    const whole = median(measured.map((costs) => costs.whole[who]));
    const second = median(measured.map((costs) => costs.second[who]));
    say(
      `${who}: ${whole.toFixed(0)} µs for a request held ${holdS} s; ${second.toFixed(1)} µs for each second of it`,
    );
  }
}

/** Opened before: what is measured is the request that waits, and not what names the rollout. */
async function openRollouts(client: Client, played: PlayedProcesses, bareUrl: string): Promise<void> {
  for (let index = 0; index < held; index += 1) {
    await client.open(played, `rollout-${index}`);
    await client.call({ url: bareUrl, key: '' }, index, 0);
  }
}

type Client = ReturnType<typeof createClient>;
type Server = { readonly url: string; readonly key: string };

function createClient() {
  const agent = new Agent({ connections: null, headersTimeout: 0, bodyTimeout: 0, connectTimeout: 60_000 });
  const send = async ({ url, key }: Server, path: string, body: object) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-corral-run': 'bench',
    };
    const options = { method: 'POST', headers, dispatcher: agent, body: JSON.stringify(body) } as const;
    const answer = await request(url + path, options);
    return { status: answer.statusCode, text: await answer.body.text() };
  };
  const call = async (server: Server, index: number, waitS: number) => {
    const body = { call_id: 'first', name: 'shell', arguments: { command: 'true' } };
    const path = `/v1/rollouts/rollout-${index}/calls?wait_s=${waitS}`;
    const { status, text } = await send(server, path, body);
    if (status !== 503 || !text.includes('capacity_timeout')) throw new Error(`${status} ${text}`);
  };
  return {
    open: async ({ gatewayUrl, apiKey }: PlayedProcesses, rollout: string) => {
      const { status, text } = await send({ url: gatewayUrl, key: apiKey }, '/v1/rollouts', {
        rollout_id: rollout,
        environment: 'full',
      });
      if (status >= 300) throw new Error(`${status} ${text}`);
    },
    call,
    /** One call of each rollout, at once; resolves when all were answered that nothing was free. */
    hold: async (server: Server, waitS: number): Promise<void> => {
      await Promise.all(Array.from({ length: held }, (_, index) => call(server, index, waitS)));
    },
    [Symbol.asyncDispose]: () => agent.close(),
  };
}

async function startBare() {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'waiting/bare-server.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string];
  return {
    url,
    pid: child.pid ?? 0,
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}
