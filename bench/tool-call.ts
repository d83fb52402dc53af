import { atLeast, atMost, type Benchmark, type Figure, median } from './figures.ts';
import { startBenchFleet } from './fleet.ts';
import { startStraight } from './straight.ts';

const command = 'echo hi';
/** In turns, so that a machine whose speed drifts is equally slow for both. */
const pairs = 150;
/**
 * So many pairs come before those that are judged, and are told of: both sides run JavaScript that is compiled as it is used,
 * and a gateway uses more of it. A fleet has this behind it after the first seconds of the first step of a training.
 */
const warmUpPairs = 700;
const atOnce = 32;
const rounds = 10;

/** What the gateway, Redis and the queue of one process add to a call that sandboxd would answer alone. */
export const toolCall: Benchmark = {
  name: 'tool-call',
  run: async (say) => {
    say('starting a fleet, and one sandbox next to it');
    await using bench = await startBenchFleet({ minReady: 1, max: 1 });
    await using straight = await startStraight();
    const [target] = await straight.create(1);
    if (target === undefined) throw new Error('no sandbox');
    await straight.bind(target);
    const through = (call: string) => bench.call('bench-rollout', call, command);
    const direct = async (call: string) => {
      straight.settled(target, await straight.exec(target, call, command));
    };
    return [await oneAfterAnother(through, direct, say), await manyAtOnce(through, direct, say)];
  },
};

type Call = (id: string) => Promise<unknown>;

async function oneAfterAnother(through: Call, direct: Call, say: (line: string) => void): Promise<Figure> {
  say(`${warmUpPairs + pairs} calls one after another, through the gateway and straight in turns`);
  const times = { through: [] as number[], direct: [] as number[] };
  for (let call = 0; call < warmUpPairs + pairs; call += 1) {
    times.through.push(await timed(() => through(`single-${call}`)));
    times.direct.push(await timed(() => direct(`single-${call}`)));
  }
  const p50 = (from: number) => {
    const of = (sample: readonly number[]) => median(sample.slice(from, from + pairs));
    return { value: of(times.through), floor: of(times.direct) };
  };
  const { value, floor } = p50(0);
  say(
    `the first ${pairs}, which nobody has compiled: ${value.toFixed(2)} and ${floor.toFixed(2)} ms, ${(value / floor).toFixed(2)}`,
  );
  return atMost(
    { what: 'one after another, p50 of a call', unit: 'ms', ...p50(warmUpPairs) },
    mostOfStraight,
  );
}

/** Of a call that sandboxd answers alone: two scripts of Redis and one more HTTP request come on top. */
const mostOfStraight = 1.45;

async function manyAtOnce(through: Call, direct: Call, say: (line: string) => void): Promise<Figure> {
  say(`${rounds} rounds of ${atOnce} calls at once, in turns`);
  const rates = { through: [] as number[], direct: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    rates.through.push(await rateOf((call) => through(`many-${round}-${call}`)));
    rates.direct.push(await rateOf((call) => direct(`many-${round}-${call}`)));
  }
  const what = `${atOnce} at once, calls a second`;
  return atLeast({ what, unit: '/s', value: median(rates.through), floor: median(rates.direct) }, 0.75);
}

async function rateOf(call: (index: number) => Promise<unknown>): Promise<number> {
  const elapsedMs = await timed(() => Promise.all(Array.from({ length: atOnce }, (_, index) => call(index))));
  return (atOnce * 1_000) / elapsedMs;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
