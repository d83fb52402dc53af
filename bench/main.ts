import { mkdir, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { bigBurst } from './big-burst.ts';
import { chart } from './chart.ts';
import { claims } from './claims.ts';
import { consolePages } from './console.ts';
import { costCurve } from './cost-curve.ts';
import type { Benchmark, Figure } from './figures.ts';
import { flood } from './flood.ts';
import { gradeElsewhere } from './grade-elsewhere.ts';
import { kubernetes } from './kubernetes.ts';
import { metrics } from './metrics.ts';
import { recordBytes } from './record-bytes.ts';
import { sandboxCost } from './sandbox-cost.ts';
import { search } from './search.ts';
import { sessions } from './sessions.ts';
import { toolCall } from './tool-call.ts';
import { traces } from './traces.ts';
import { waiting } from './waiting.ts';
import { warmBurst } from './warm-burst.ts';
import { watching } from './watching.ts';

const benchmarks: readonly Benchmark[] = [
  claims,
  costCurve,
  recordBytes,
  waiting,
  toolCall,
  gradeElsewhere,
  search,
  sessions,
  traces,
  metrics,
  sandboxCost,
  flood,
  warmBurst,
  bigBurst,
  watching,
];
/** Only when named: a cluster's programs take minutes to build, the first time, and a browser is not everywhere. */
const onRequest: readonly Benchmark[] = [kubernetes, chart, consolePages];

/**
 * `npm run bench -- [NAME…] [--runs N]`: measures each benchmark beside its floor, prints one table and writes
 * `out/bench/NAME.json`. Ends 0 when every goal is met. `--runs`: how often what alternates with its floor is run.
 */
async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { out: { type: 'string', default: 'out/bench' }, runs: { type: 'string' } },
  });
  const runs = values.runs === undefined ? null : Number(values.runs);
  if (runs !== null && !(Number.isInteger(runs) && runs > 0)) throw new Error('--runs takes 1, 2, 3, …');
  const chosen = positionals.length === 0 ? benchmarks : positionals.map(byName);
  await mkdir(values.out, { recursive: true });
  const rows: Row[] = [];
  for (const benchmark of chosen) {
    const figures = await benchmark.run((line) => console.error(`${benchmark.name}: ${line}`), runs);
    await writeFile(`${values.out}/${benchmark.name}.json`, `${JSON.stringify({ figures }, null, 2)}\n`);
    for (const figure of figures) rows.push({ name: benchmark.name, ...figure });
  }
  printTable(rows);
  process.exitCode = rows.every((row) => row.met) ? 0 : 1;
}

type Row = Figure & { readonly name: string };

function byName(name: string): Benchmark {
  const all = [...benchmarks, ...onRequest];
  const found = all.find((benchmark) => benchmark.name === name);
  if (found !== undefined) return found;
  throw new Error(`no benchmark ${name}; there are: ${all.map((known) => known.name).join(', ')}`);
}

function printTable(rows: readonly Row[]): void {
  const header = ['benchmark', 'what', 'value', 'floor', 'ratio', 'goal', ''];
  const lines = rows.map((row) => [
    row.name,
    row.what,
    amount(row.value, row.unit),
    amount(row.floor, row.unit),
    row.ratio.toFixed(2),
    row.goal,
    row.met ? 'met' : 'MISSED',
  ]);
  const widths = header.map((title, column) =>
    Math.max(title.length, ...lines.map((line) => (line[column] ?? '').length)),
  );
  for (const line of [header, ...lines]) {
    console.log(
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}

function amount(value: number, unit: string): string {
  const digits = Math.abs(value) < 100 && !Number.isInteger(value) ? 2 : 0;
  return `${value.toFixed(digits)} ${unit}`.trim();
}

await main();
