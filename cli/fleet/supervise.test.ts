import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '#src/platform/clock.ts';
import { openLogFile } from './log-file.ts';
import type { PartSpec } from './part-process.ts';
import { createPartRecords } from './part-records.ts';
import { identifyProcess } from './process-identity.ts';
import { afterDeath, noDeaths, type PartEvent, supervise, type SupervisedPart } from './supervise.ts';
import { sendSignal } from '#test/support/send-signal.ts';

let folder = '';
let parts: SupervisedPart[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-supervise-'));
});
afterEach(async () => {
  await Promise.all(parts.splice(0).map((part) => part.stop()));
  rmSync(folder, { recursive: true, force: true });
});

/** A part that is a shell script; it is ready when it has made the file `ready`. */
function spec(script: string, change: Partial<PartSpec> = {}): PartSpec {
  return {
    name: 'gateway',
    argv: ['sh', '-c', script],
    env: { FOLDER: folder },
    isReady: async () => existsSync(join(folder, 'ready')),
    deathSignal: 'KILL',
    stopGraceMs: 2000,
    ...change,
  };
}

async function start(partSpec: PartSpec, startDeadlineMs = 5000) {
  const events: PartEvent[] = [];
  const heard = Promise.withResolvers<PartEvent>();
  const part = await supervise(partSpec, {
    clock: systemClock,
    records: createPartRecords(join(folder, 'parts')),
    logOf: (name) => openLogFile(join(folder, `${name}.jsonl`), systemClock),
    startDeadlineMs,
    onEvent: (event) => {
      events.push(event);
      if (events.filter(({ kind }) => kind === 'ready').length === 2) heard.resolve(event);
    },
  });
  parts.push(part);
  return { part, events, readyAgain: heard.promise };
}

const longLived = 'touch "$FOLDER/ready"; exec sleep 60';

test('a part that dies is started again, and both are told', async () => {
  const { part, events, readyAgain } = await start(spec(longLived));
  const first = part.pid();
  sendSignal(first, 'SIGKILL');
  await readyAgain;
  expect(events.map(({ kind }) => kind)).toEqual(['ready', 'died', 'ready']);
  expect(events[1]).toMatchObject({ exit: { code: null, signal: 'SIGKILL' }, restartInMs: 200 });
  expect(part.pid()).not.toBe(first);
});

test('a part that fails its first start ends the start, with its last words and where to read more', async () => {
  const failing = start(spec('echo "cannot open the door" >&2; exit 7'));
  await expect(failing).rejects.toMatchObject({ fault: 'the fleet' });
  await expect(failing).rejects.toThrow(/exit code 7.*cannot open the door/s);
  expect(readdirSync(join(folder, 'parts'))).toEqual([]);
});

test('a part whose program does not exist ends the start', async () => {
  await expect(start(spec('', { argv: ['/nowhere/to/be/found'] }))).rejects.toThrow('gateway did not start');
});

test('a part that never answers ends the start and is killed', async () => {
  const pidFile = spec('echo $$; exec sleep 60', { isReady: () => Promise.resolve(false) });
  await expect(start(pidFile, 100)).rejects.toThrow('was not ready within');
  expect(readdirSync(join(folder, 'parts'))).toEqual([]);
});

test('a part that does not listen to SIGTERM is killed after its grace', async () => {
  const deaf = `trap '' TERM; touch "$FOLDER/ready"; while true; do sleep 0.05; done`;
  const { part, events } = await start(spec(deaf, { stopGraceMs: 200 }));
  const pid = part.pid() ?? 0;
  await part.stop();
  expect(identifyProcess(pid)).toBeNull();
  expect(events.map(({ kind }) => kind)).toEqual(['ready']);
  expect(readdirSync(join(folder, 'parts'))).toEqual([]);
});

test('while a part runs its record is on disk', async () => {
  await start(spec(longLived));
  expect(readdirSync(join(folder, 'parts'))).toEqual(['gateway.json']);
});

test('a part that dies at once waits twice as long each time, up to ten seconds', () => {
  let deaths = noDeaths;
  const delays = Array.from({ length: 8 }, () => (deaths = afterDeath(deaths, 10)).delayMs);
  expect(delays).toEqual([200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
});

test('a part that lived a minute begins again', () => {
  const many = { inARow: 9, delayMs: 10_000 };
  expect(afterDeath(many, 59_999).delayMs).toBe(10_000);
  expect(afterDeath(many, 60_000)).toEqual({ inARow: 1, delayMs: 200 });
});
