import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { callId, rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { type Owner, rolloutKey } from '#src/model/rollout.ts';
import { systemRandom } from '#src/platform/random.ts';
import type { RolloutEvent } from '#src/ports/event-log.ts';
import type { LogFields } from '#src/ports/log.ts';
import type { Wanted } from '#src/protocol/fleet/events.ts';
import { parseEvent } from './event-lines.ts';
import { createEventLog, type EventLogOptions } from './event-log.ts';
import { everyRollout } from './read-events.ts';

const dayMs = 24 * 60 * 60 * 1000;
let folder: string;
let nowMs: number;
type Said = { readonly message: string; readonly fields: LogFields | undefined };
let errors: Said[];
let warnings: Said[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-events-'));
  nowMs = Date.parse('2026-11-21T12:00:00Z');
  errors = [];
  warnings = [];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const silent = (): void => undefined;

function newLog(changes: Partial<EventLogOptions> = {}) {
  return createEventLog({
    folder,
    process: 'gateway',
    clock: { nowMs: () => nowMs, monotonicMs: () => nowMs, sleep: () => Promise.resolve() },
    random: systemRandom,
    log: {
      debug: silent,
      info: silent,
      warn: (message, fields) => void warnings.push({ message, fields }),
      error: (message, fields) => void errors.push({ message, fields }),
    },
    ...changes,
  });
}

const ownerOf = (rollout: string, changes: Partial<Owner> = {}): Owner => ({
  tenant: tenantId('acme'),
  run: runId('nightly'),
  rollout: rolloutId(rollout),
  attempt: 1,
  role: 'policy',
  ...changes,
});

const keyOf = (rollout: string) => rolloutKey(ownerOf(rollout));

function verdict(rollout: string): Extract<RolloutEvent, { kind: 'verdict' }> {
  return {
    kind: 'verdict',
    atMs: nowMs,
    key: keyOf(rollout),
    keyId: 'trainer',
    environment: 'shell',
    version: 'v1',
    verdict: { kind: 'scorable' },
    score: 1,
    suspected: null,
    evidence: {},
  };
}

function lostCommand(rollout: string, command: string): RolloutEvent {
  const { atMs, key, keyId, environment, version } = verdict(rollout);
  return { kind: 'lost_command', atMs, key, keyId, environment, version, call: callId('c'), command };
}

async function bytesIn(path: string): Promise<number> {
  const names = await readdir(path);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(path, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** The newest files come first; of one file, the lines in order. */
async function readAll(wanted: Partial<Wanted> = {}, log = newLog()): Promise<readonly RolloutEvent[]> {
  const found = log.search({ ...everyRollout, ...wanted }, new AbortController().signal);
  if (found === null) throw new Error('it keeps nothing');
  const lines = await Array.fromAsync(found);
  return lines.flatMap((line) => parseEvent(line) ?? []);
}

async function scores(wanted: Partial<Wanted>) {
  return (await readAll(wanted)).map((event) => (event.kind === 'verdict' ? event.score : event.kind));
}

describe('the event log', () => {
  it('has on disk after a flush what was appended, in order', async () => {
    const log = newLog();
    const events = Array.from({ length: 500 }, (_, n) => verdict(`trace_${n}`));
    for (const event of events) log.append(event);
    await log.flush();
    expect(await readAll()).toEqual(events);
  });

  it('writes no character of a policy that is an order to a terminal', async () => {
    const log = newLog();
    const event = lostCommand('trace', 'echo \u009B2J\u202Etxt');
    log.append(event);
    await log.flush();
    const names = await readdir(folder);
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
    expect(texts.join('')).toMatch(/^[ -~\n]+$/);
    expect(await readAll()).toEqual([event]);
  });

  it('finds one rollout of one tenant and run, the newest files first, and nobody else’s of the same name', async () => {
    const log = newLog();
    const others = [ownerOf('a', { tenant: tenantId('other') }), ownerOf('a', { run: runId('weekly') })];
    for (const owner of others) log.append({ ...verdict('a'), key: rolloutKey(owner) });
    log.append({ ...verdict('a'), score: 0.25 });
    await log.flush();
    nowMs += 2 * dayMs;
    log.append(verdict('b'));
    log.append(verdict('a'));
    // What a policy ran names a rollout that is none of its.
    log.append(lostCommand('b', keyOf('a')));
    await log.flush();
    const ours = { tenant: tenantId('acme'), run: runId('nightly'), rollout: rolloutId('a') };
    expect(await scores(ours)).toEqual([1, 0.25]);
    expect(await scores({ ...ours, run: null })).toEqual([1, 1, 0.25]);
    expect(await scores({ rollout: rolloutId('a') })).toEqual([1, 1, 1, 0.25]);
    expect(await scores({ ...ours, rollout: null })).toEqual([1, 1, 'lost_command', 0.25]);
    expect(await scores({ ...ours, tenant: tenantId('nobody') })).toEqual([]);
  });

  it('finds lines on both sides of where a reading ends, and no more after the signal', async () => {
    const log = newLog();
    const long = 'x'.repeat(100_000);
    for (let n = 0; n < 40; n += 1) log.append({ ...verdict(`trace_${n % 4}`), evidence: { long } });
    await log.flush();
    expect(await readAll({ rollout: rolloutId('trace_3') })).toHaveLength(10);
    const stop = new AbortController();
    const found: string[] = [];
    for await (const line of log.search({ ...everyRollout, rollout: rolloutId('trace_3') }, stop.signal) ??
      []) {
      found.push(line);
      stop.abort();
    }
    expect(found.length).toBeLessThan(10);
  });

  it('says that nothing can be read where lines go to standard output only', () => {
    expect(newLog({ folder: null }).search(everyRollout, new AbortController().signal)).toBeNull();
  });

  it('takes nothing for an event that is half, of another shape, or claims a key that can be none', () => {
    const line = JSON.stringify(verdict('a'));
    expect(parseEvent(line)).toEqual(verdict('a'));
    expect(parseEvent(line.replace(',"keyId":"trainer"', ''))).toEqual({ ...verdict('a'), keyId: null });
    const strange = [
      line.slice(0, -1),
      line.replace('"verdict":{"kind":"scorable"}', '"verdict":"scorable"'),
      line.replace('"kind":"verdict"', '"kind":"other"'),
      line.replace('acme/nightly', 'acme'),
      line.replace('acme', '%'),
      'null',
      '',
    ];
    expect(strange.map(parseEvent)).toEqual(strange.map(() => null));
    expect(parseEvent(line.replace('"trainer"', '"\\u001b[2J"'))).toMatchObject({ keyId: null });
  });

  it('begins another file each day and when one is full', async () => {
    const log = newLog({ maxFileBytes: 10 });
    for (const rollout of ['a', 'b']) {
      log.append(verdict(rollout));
      await log.flush();
    }
    nowMs += dayMs;
    log.append(verdict('c'));
    await log.flush();
    const names = (await readdir(folder)).sort();
    expect(names).toEqual([
      expect.stringMatching(/^events-2026-11-21-gateway-[0-9a-z]{8}-000001\.jsonl$/),
      expect.stringMatching(/^events-2026-11-21-gateway-[0-9a-z]{8}-000002\.jsonl$/),
      expect.stringMatching(/^events-2026-11-22-gateway-[0-9a-z]{8}-000003\.jsonl$/),
    ]);
    expect((await readAll()).length).toBe(3);
  });

  it('removes its files after 14 days and leaves those of others', async () => {
    await writeFile(join(folder, 'events-2026-11-07-gateway-writer00-000001.jsonl'), '');
    await writeFile(join(folder, 'events-2026-11-06-gateway-writer00-000001.jsonl'), '');
    await writeFile(join(folder, 'notes.txt'), '');
    const log = newLog();
    log.append(verdict('a'));
    await log.flush();
    const names = await readdir(folder);
    expect(names).toContain('notes.txt');
    expect(names).toContain('events-2026-11-07-gateway-writer00-000001.jsonl');
    expect(names).not.toContain('events-2026-11-06-gateway-writer00-000001.jsonl');
  });

  it('never takes more bytes than it may: its oldest files go first, also those of others, and that is told', async () => {
    const eventBytes = Buffer.byteLength(`${JSON.stringify(verdict('trace_00'))}\n`);
    const bound = { maxBytes: 10 * eventBytes, maxFileBytes: 2 * eventBytes, maxBufferedBytes: eventBytes };
    await writeFile(
      join(folder, 'events-2026-11-21-controller-writer00-000001.jsonl'),
      'x'.repeat(eventBytes),
    );
    const log = newLog(bound);
    const names = Array.from({ length: 20 }, (_, n) => `trace_${n + 10}`);
    for (const name of names) {
      log.append(verdict(name));
      await log.flush();
      expect(await bytesIn(folder)).toBeLessThanOrEqual(bound.maxBytes);
    }
    const kept = (await readAll()).map(({ key }) => key);
    expect(kept.toSorted()).toEqual(names.slice(-kept.length).map(keyOf));
    expect(kept.length).toBeGreaterThanOrEqual(6);
    expect(warnings[0]).toMatchObject({
      message: expect.stringContaining('CORRAL_EVENT_LOG_MAX_BYTES'),
      fields: { files: 2, last: expect.stringMatching(/gateway-[0-9a-z]{8}-000001/) },
    });
    expect((await readdir(folder)).filter((name) => name.includes('controller'))).toEqual([]);
    const dropped = warnings.reduce((sum, { fields }) => sum + Number(fields?.['bytes']), 0);
    expect(dropped).toBe((1 + names.length - kept.length) * eventBytes);
  });

  it('keeps two writers of one folder apart', async () => {
    const logs = [newLog(), newLog()];
    for (const [n, log] of logs.entries()) log.append(verdict(`trace_${n}`));
    await Promise.all(logs.map((log) => log.flush()));
    expect((await readdir(folder)).length).toBe(2);
    expect((await readAll()).length).toBe(2);
  });

  it('skips a line that a crash cut off', async () => {
    const log = newLog();
    log.append(verdict('a'));
    await log.flush();
    const [name = ''] = await readdir(folder);
    await appendFile(join(folder, name), '{"kind":"verd');
    expect((await readAll()).length).toBe(1);
  });

  it('drops what does not fit its buffer, and says so', async () => {
    let dropped = 0;
    const log = newLog({ maxBufferedBytes: 300, onDropped: (lines) => (dropped += lines) });
    for (let n = 0; n < 10; n += 1) log.append(verdict('a'));
    await log.flush();
    expect(errors[0]?.message).toContain('dropped');
    expect((await readAll()).length + errors.length).toBe(10);
    expect(dropped).toBe(errors.length);
  });

  it('tells of a disk that fails and goes on', async () => {
    await rm(folder, { recursive: true });
    await writeFile(folder, 'a file where the folder should be');
    let dropped = 0;
    const log = newLog({ onDropped: (lines) => (dropped += lines) });
    log.append(verdict('a'));
    await log.flush();
    expect(errors[0]?.message).toBe('events could not be written');
    expect(dropped).toBe(1);
    await rm(folder);
    nowMs += dayMs;
    log.append(verdict('b'));
    await log.flush();
    expect((await readAll()).length).toBe(1);
  });

  it('is empty where there is no folder yet', async () => {
    expect(await readAll({}, newLog({ folder: join(folder, 'none') }))).toEqual([]);
  });
});

const writer = JSON.stringify(join(import.meta.dirname, 'event-log.ts'));

/** More than a pipe holds, many times over. */
const lines = 20_000;

test('a reader that is slow gets every line whole, and the process goes on meanwhile', async () => {
  const program = `
    const { createStdoutWriter } = await import(${writer});
    let turns = 0;
    setInterval(() => (turns += 1) === 6 && process.stderr.write('turns\\n'), 10);
    const text = Array.from({ length: ${lines} }, (_, n) => JSON.stringify({ n, text: 'x'.repeat(100) }) + '\\n').join('');
    process.stderr.write('up\\n');
    await createStdoutWriter().write(Buffer.from(text));
    process.exit(0);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const told = createInterface({ input: child.stderr })[Symbol.asyncIterator]();
  expect((await told.next()).value).toBe('up');
  // Nobody has read anything: the pipe is full, and the process turns.
  expect((await told.next()).value).toBe('turns');

  let read = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    expect((JSON.parse(line) as { n: number }).n).toBe(read);
    read += 1;
  }
  expect(read).toBe(lines);
  expect((await exited)[0]).toBe(0);
});
