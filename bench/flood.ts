import { type Benchmark, type Figure, within } from './figures.ts';
import { type BenchFleet, startBenchFleet } from './fleet.ts';
import { pidOfPart } from './parts.ts';
import { familyOf, peakResidentBytes, residentBytes } from './processes.ts';

const floodBytes = 1_000_000_000;
const head = 'the very first line';
const tail = 'the very last line';
const command = `echo '${head}'; yes 0123456789abcdef | head -c ${floodBytes}; echo; echo '${tail}'`;
const writtenBytes = head.length + 1 + floodBytes + 1 + tail.length + 1;
const mebibyte = 1024 * 1024;
const mostGrowthMebibytes = 32;

/** A command that prints a gigabyte: memory stays flat, and head, tail and counts are exact. */
export const flood: Benchmark = {
  name: 'flood',
  run: async (say) => {
    say('starting a fleet');
    await using bench = await startBenchFleet({ minReady: 1, max: 1 });
    // Everything is loaded and warm before the flood, so that growth is the flood's.
    for (let call = 0; call < 20; call += 1) await bench.call('flood', `warm-${call}`, 'seq 20000');
    const pids = {
      gateway: await pidOfPart(bench.fleet.stateDir, 'gateway'),
      sandboxd: await sandboxdPid(bench),
    };
    const before = {
      gateway: await residentBytes(pids.gateway),
      sandboxd: await residentBytes(pids.sandboxd),
    };
    say('one command prints a gigabyte');
    const answer = await bench.call('flood', 'flood', command);
    const output = (JSON.parse(answer) as { output: string }).output;
    return [
      await growth('sandboxd', pids.sandboxd, before.sandboxd),
      await growth('gateway', pids.gateway, before.gateway),
      exactness(output),
    ];
  },
};

async function growth(what: string, pid: number, beforeBytes: number): Promise<Figure> {
  const value = Math.max(0, (await peakResidentBytes(pid)) - beforeBytes) / mebibyte;
  return within({ what: `${what} grows by`, unit: 'MiB', value, floor: mostGrowthMebibytes });
}

/** What the model reads: the head, how much was cut, the tail; together every byte that was written. */
function exactness(output: string): Figure {
  const cut = Number(/\[(\d+) bytes cut\]/.exec(output)?.[1] ?? Number.NaN);
  const mark = /\n?\[\d+ bytes cut\]\n?/;
  const shown = output.split(mark).reduce((sum, part) => sum + Buffer.byteLength(part), 0);
  const whole = output.startsWith(head) && output.trimEnd().endsWith(tail);
  const value = whole ? Math.abs(writtenBytes - (cut + shown)) : writtenBytes;
  // The mark stands on lines of its own, whose two line ends may be the command's or ours.
  return within({ what: 'bytes neither shown nor counted', unit: 'B', value, floor: 2 });
}

/** The largest process of the fleet's one sandbox. */
async function sandboxdPid(bench: BenchFleet): Promise<number> {
  const [only] = await bench.fleet.sandboxes();
  if (only === undefined) throw new Error('the fleet has no sandbox');
  const family = await familyOf(only.pid);
  const sizes = await Promise.all(family.map(residentBytes));
  return family[sizes.indexOf(Math.max(...sizes))] ?? only.pid;
}
