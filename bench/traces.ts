import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { openTracer } from '#src/adapters/opentelemetry/open-tracer.ts';
import { noTracer } from '#src/ports/tracer.ts';
import { CoreWorld } from '#test/support/core-world.ts';
import { type Benchmark, type Figure, median, within } from './figures.ts';

/**
 * What spans cost: off, a span that nobody writes; with every trace kept, what a gateway's processor has to do more for a tool
 * call, sending included. For that two gateways take turns in this process, over one Redis and one sandbox in memory; what
 * receives the spans is a process of its own.
 */
export const traces: Benchmark = {
  name: 'traces',
  run: async (say) => {
    const off = spanOff();
    await using collector = await startCollector();
    const log = { debug: say, info: say, warn: say, error: say };
    const tracer = await openTracer(
      { endpoint: collector.endpoint, headers: {}, ratio: 1, resource: {} },
      { service: 'corral-gateway', fleet: 'bench' },
      log,
    );
    await using world = await CoreWorld.start();
    const gateways = { plain: world.gateway(), traced: world.gateway(undefined, undefined, tracer) };
    const begin = async (rollout: string, which: Which) => {
      await world.ready();
      await world.sh(rollout, 'first', 'true', gateways[which].core);
      return (id: string) => world.sh(rollout, id, 'true', gateways[which].core);
    };
    const call = await costOfCall(begin, say);
    await Promise.all([gateways.plain.close(), gateways.traced.close(), tracer.close()]);
    return [off, call];
  },
};

const spansAtOnce = 1_000_000;

function spanOff(): Figure {
  const attributes = { 'corral.call': 'call_1', 'corral.face': 'rft' } as const;
  const costs = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    for (let made = 0; made < spansAtOnce; made += 1) {
      const span = noTracer.start('exchange', { attributes });
      span.set(attributes);
      span.end();
    }
    return cpuUs(before) / spansAtOnce;
  });
  return within({ what: 'off: CPU of a span', unit: 'µs', value: median(costs), floor: 0.1 });
}

const rounds = 10;
/** Each round is a rollout of its own, which takes 4,000 calls at most. */
const callsOfRound = 1_500;
/** As many as one rollout of a trainer has under way. */
const atOnce = 8;
/** Spans leave once a second; what sending them costs is of the round that made them. */
const sentMs = 1_100;

type Which = 'plain' | 'traced';
type Call = (id: string) => Promise<unknown>;

async function costOfCall(
  begin: (rollout: string, which: Which) => Promise<Call>,
  say: (line: string) => void,
): Promise<Figure> {
  const costs: Record<Which, number[]> = { plain: [], traced: [] };
  say(`${rounds} rounds of ${callsOfRound} calls of each, in turns`);
  for (let round = 0; round <= rounds; round += 1) {
    for (const which of round % 2 === 0 ? (['plain', 'traced'] as const) : (['traced', 'plain'] as const)) {
      const cost = await cpuOfCall(await begin(`${which}-${round}`, which));
      // The first is for what is compiled and connected once.
      if (round > 0) costs[which].push(cost);
    }
  }
  const [plain, traced] = [median(costs.plain), median(costs.traced)];
  say(`CPU of a call: ${plain.toFixed(0)} µs without spans, ${traced.toFixed(0)} µs with all of them`);
  return within({
    what: 'every trace kept: CPU added to a call',
    unit: 'µs',
    value: traced - plain,
    floor: 55,
  });
}

async function cpuOfCall(call: Call): Promise<number> {
  const before = process.cpuUsage();
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < callsOfRound) {
      next += 1;
      await call(`call-${next}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  await sleep(sentMs);
  return cpuUs(before) / callsOfRound;
}

function cpuUs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return user + system;
}

/** Takes whatever comes and answers; says its port. */
const collectorProgram = `
const { createServer } = require('node:http');
const server = createServer((request, response) => {
  request.resume().on('end', () => response.setHeader('content-type', 'application/json').end('{}'));
});
server.listen(0, '127.0.0.1', () => process.stdout.write(String(server.address().port)));
`;

async function startCollector() {
  const child = spawn(process.execPath, ['--eval', collectorProgram], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  return {
    endpoint: `http://127.0.0.1:${port.toString()}`,
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await once(child, 'exit');
    },
  };
}
