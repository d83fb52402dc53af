import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { noTracer } from '../src/ports/tracer.ts';
import { startOtlpReceiver } from '../test/support/otlp-receiver.ts';
import { median, within } from './figures.ts';
import type { Benchmark, Figure } from './figures.ts';
import { startBenchFleet } from './fleet.ts';
import type { BenchFleet } from './fleet.ts';

/**
 * What spans cost. Off: a span that nobody writes. On, every trace kept: what a gateway's processor has to do more for a call,
 * sending included, between two fleets that take turns in the same minutes.
 */
export const traces: Benchmark = {
  name: 'traces',
  run: async (say) => {
    const off = spanOff();
    say('starting a fleet without spans, and one that writes all of them');
    await using receiver = await startOtlpReceiver();
    await using plain = await startBenchFleet(pool);
    await using traced = await withVariables(
      { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint, OTEL_TRACES_SAMPLER_ARG: '1' },
      () => startBenchFleet(pool),
    );
    const call = await costOfCall(plain, traced, say);
    say(`${receiver.spans.length} spans were received`);
    return [off, call];
  },
};

/** One rollout after another, each in a sandbox that was ready. */
const pool = { minReady: 1, max: 2 };
const spansAtOnce = 1_000_000;

function spanOff(): Figure {
  const attributes = { 'corral.call': 'call_1', 'corral.face': 'rft' } as const;
  const rounds = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    for (let made = 0; made < spansAtOnce; made += 1) {
      const span = noTracer.start('exchange', { attributes });
      span.set(attributes);
      span.end();
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / spansAtOnce;
  });
  return within({ what: 'off: CPU of a span', unit: 'µs', value: median(rounds), floor: 0.1 });
}

const rounds = 10;
const callsOfRound = 200;
/** As many as one trainer's rollout has under way; enough that the gateway is never idle. */
const atOnce = 8;
/** Spans of a round leave within a second; what sending them costs is of that round. */
const sentMs = 1_500;

async function costOfCall(
  plain: BenchFleet,
  traced: BenchFleet,
  say: (line: string) => void,
): Promise<Figure> {
  const [pidOfPlain, pidOfTraced] = await Promise.all([gatewayOf(plain), gatewayOf(traced)]);
  const fleets = {
    plain: { fleet: plain, pid: pidOfPlain, costs: [] as number[] },
    traced: { fleet: traced, pid: pidOfTraced, costs: [] as number[] },
  };
  // The first is for what is compiled and connected once.
  for (let round = 0; round <= rounds; round += 1) {
    const turns = round % 2 === 0 ? [fleets.plain, fleets.traced] : [fleets.traced, fleets.plain];
    for (const { fleet, pid, costs } of turns) {
      const cost = await cpuOfCall(fleet, pid, round);
      if (round > 0) costs.push(cost);
    }
  }
  const [without, withSpans] = [median(fleets.plain.costs), median(fleets.traced.costs)];
  say(`CPU of a gateway for a call: ${without.toFixed(0)} µs without spans, ${withSpans.toFixed(0)} µs with`);
  const differences = fleets.traced.costs.map((cost, round) => cost - (fleets.plain.costs[round] ?? 0));
  return within({
    what: 'every trace kept: CPU added to a call',
    unit: 'µs',
    value: median(differences),
    floor: 55,
  });
}

async function cpuOfCall(fleet: BenchFleet, pid: number, round: number): Promise<number> {
  const rollout = `round-${round}`;
  // It waits for its sandbox, which is another measurement's.
  await fleet.call(rollout, 'first', 'true');
  const before = await cpuMs(pid);
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < callsOfRound) {
      next += 1;
      await fleet.call(rollout, `call-${next}`, 'true');
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  await sleep(sentMs);
  const spentMs = (await cpuMs(pid)) - before;
  await fleet.finish(rollout);
  return spentMs * (1_000 / callsOfRound);
}

/** Of all threads, as the kernel counts it in nanoseconds. */
async function cpuMs(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const stats = await Promise.all(threads.map((id) => readFile(`/proc/${pid}/task/${id}/schedstat`, 'utf8')));
  return stats.reduce((sum, stat) => sum + Number(stat.split(' ')[0]) / 1e6, 0);
}

/** From the record that the fleet keeps of its parts. */
async function gatewayOf({ fleet }: BenchFleet): Promise<number> {
  const text = await readFile(join(fleet.stateDir, 'parts/gateway.json'), 'utf8');
  return (JSON.parse(text) as { readonly pid: number }).pid;
}

async function withVariables<Result>(
  variables: Readonly<Record<string, string>>,
  work: () => Promise<Result>,
): Promise<Result> {
  Object.assign(process.env, variables);
  try {
    return await work();
  } finally {
    for (const name of Object.keys(variables)) Reflect.deleteProperty(process.env, name);
  }
}
