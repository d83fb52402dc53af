import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { startDemoFleet, warmPool } from '../fleet/demo-fleet.ts';
import { readOptions } from '../options.ts';
import { aboutThisRun } from '../report/about.ts';
import { runDemo } from '../run-demo.ts';
import { loadTasks } from '../tasks/load-tasks.ts';
import { animationOf } from './animation.ts';
import { framesOf } from './cast.ts';
import { playTerminal } from './play-terminal.ts';

/*
 * `npm run recordings -- [NAME…]`: records the demo, `corral top` while a demo loses sandboxes, and `corral attach` while a model works in
 * a terminal, with Debian's asciinema; draws docs/demo.svg, docs/top.svg and docs/attach.svg from what the terminals showed.
 */

const docs = join(import.meta.dirname, '../../docs');
const folder = await mkdtemp(join(tmpdir(), 'corral-recording-'));
const recordings: Readonly<Record<string, () => Promise<void>>> = {
  demo: () => record('demo', { columns: 104, rows: 26, speed: 3 }, 'npm run -s demo', process.env),
  top: recordTop,
  attach: () => playTerminal(recordAttach),
};
try {
  const chosen = process.argv.slice(2);
  for (const [name, make] of Object.entries(recordings))
    if (chosen.length === 0 || chosen.includes(name)) await make();
} finally {
  await rm(folder, { recursive: true });
}

async function recordTop(): Promise<void> {
  const options = readOptions([]);
  const tasks = (await loadTasks()).slice(0, options.tasks);
  const fleet = await startDemoFleet(options.pool, () => undefined, false);
  try {
    await warmPool(fleet, options.pool, systemClock);
    const ending = new AbortController();
    const look = { columns: 104, rows: 30, speed: 3 };
    const top = record('top', look, 'bin/corral top', variablesOf(fleet), ending.signal);
    await runDemo(options, tasks, fleet, { clock: systemClock, random: systemRandom, out: process.stdout });
    ending.abort();
    await top;
  } finally {
    await fleet.stop();
  }
}

function recordAttach(watched: Parameters<Parameters<typeof playTerminal>[0]>[0], end: AbortSignal) {
  const look = { columns: 90, rows: 26, speed: 1.5 };
  return record('attach', look, `bin/corral attach ${watched.rollout}`, variablesOf(watched), end);
}

function variablesOf(of: { readonly gatewayUrl: string; readonly apiKey: string }): NodeJS.ProcessEnv {
  return { ...process.env, CORRAL_URL: of.gatewayUrl, CORRAL_KEY: of.apiKey };
}

type Look = { readonly columns: number; readonly rows: number; readonly speed: number };

/** Records a command until it ends, or until the signal, at which it gets Ctrl-C. */
async function record(name: string, look: Look, command: string, env: NodeJS.ProcessEnv, end?: AbortSignal) {
  const { columns, rows, speed } = look;
  const cast = join(folder, `${name}.cast`);
  const size = ['--cols', String(columns), '--rows', String(rows)];
  const child = spawn('asciinema', ['rec', '--quiet', ...size, '--command', command, cast], {
    env,
    // A terminal's input that is never typed into, except Ctrl-C at the end.
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  end?.addEventListener('abort', () => child.stdin.end('\u0003'));
  const [code]: unknown[] = await once(child, 'exit');
  if (code !== 0) throw new Error(`asciinema ended with ${String(code)}`);
  const frames = framesOf(await readFile(cast, 'utf8'), { rows, speed, stepSeconds: 1.5, pageSeconds: 8 });
  const { machine, version } = aboutThisRun([]);
  const footer = `Corral ${version}: ${command.replace(/-s |bin./, '')}, ${speed} times as fast, on ${machine}`;
  await writeFile(join(docs, `${name}.svg`), animationOf(frames, { columns, rows, footer }));
}
