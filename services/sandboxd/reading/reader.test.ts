import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { sandboxdSettings } from '#test/fakes/sandboxd-settings.ts';
import { readConfig } from '../config.ts';
import { readProcessTable } from '../processes/process-table.ts';
import { type Reader, startReader } from './reader.ts';

const config = readConfig({ ...sandboxdSettings, CORRAL_USERS: 'single-user' }, 1000, '/');

let folder: string;
const at = (...names: readonly string[]) => join(folder, ...names);
let reader: Reader;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-reader-'));
});
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(async () => {
  reader = await startReader(config, 'policy', (ownMs) => ownMs);
});
afterEach(() => reader.close());

const bytesOf = async (content: AsyncIterable<Buffer>) => Buffer.concat(await Array.fromAsync(content));
const errorOf = (asked: Promise<unknown>) =>
  asked.then(
    () => null,
    (error: unknown) => error,
  );

const holdsLease = `
import fcntl, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
held = open(sys.argv[1], 'r+')
fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('held', flush=True)
sys.stdin.read()`;

/** Says which terminal it is, and does not unlock it. */
const holdsLockedTerminal = `
import array, fcntl, os, sys
held, number = os.open('/dev/ptmx', os.O_RDWR), array.array('i', [0])
fcntl.ioctl(held, 0x80045430, number)
print(number[0], flush=True)
sys.stdin.read()`;
import { sendSignal } from '#test/support/send-signal.ts';

/** The one that was started here last: nothing else of this process starts any. */
function readerPid(): number | undefined {
  const own = readProcessTable().filter(({ parent }) => parent === process.pid);
  const readers = own.filter(({ pid }) => readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('reader'));
  return readers.at(-1)?.pid;
}

/** It has its name from the moment at which it is no copy of this process any more. */
const signalReader = (signal: NodeJS.Signals) => vi.waitFor(() => sendSignal(readerPid(), signal));

it('lists names of any kind, in their order, with what they are', async () => {
  mkdirSync(at('names'));
  for (const name of ['b', 'a b', 'line\nbreak', 'ü']) writeFileSync(at('names', name), name);
  mkdirSync(at('names/folder'));
  symlinkSync('/nowhere', at('names/link'));
  const entries = await reader.list(at('names'), 10);
  expect(entries.map(({ name, kind, bytes }) => [name, kind, kind === 'file' ? bytes : 0])).toEqual([
    ['a b', 'file', 3],
    ['b', 'file', 1],
    ['folder', 'folder', 0],
    ['line\nbreak', 'file', 10],
    ['link', 'link', 0],
    ['ü', 'file', 2],
  ]);
  expect(await reader.link(at('names/link'))).toBe('/nowhere');
  expect(await reader.stat(at('names/link'))).toMatchObject({ kind: 'link' });
});

it('lists no more names than are wanted', async () => {
  mkdirSync(at('many'));
  for (let each = 0; each < 2_000; each += 1) writeFileSync(at('many', `${each}`), '');
  expect(await reader.list(at('many'), 2_000)).toHaveLength(2_000);
  expect(await errorOf(reader.list(at('many'), 1_999))).toMatchObject({ code: 'EFBIG' });
});

describe('the bytes of a file', () => {
  const content = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
  beforeAll(() => {
    writeFileSync(at('content'), content);
    writeFileSync(at('shorter'), content);
    truncateSync(at('shorter'), 1_000);
    writeFileSync(at('empty'), '');
  });

  it('are as many as are asked for, with zeros behind its end', async () => {
    expect(await bytesOf(await reader.read(at('content'), content.length))).toEqual(content);
    const shorter = await bytesOf(await reader.read(at('shorter'), 200_000));
    expect(shorter).toEqual(Buffer.concat([content.subarray(0, 1_000), Buffer.alloc(199_000)]));
    expect(await bytesOf(await reader.read(at('content'), 10))).toEqual(content.subarray(0, 10));
  });

  it('come as they are from a file alone, and from one that the kernel makes up', async () => {
    expect(await bytesOf(reader.get(at('content'), content.length))).toEqual(content);
    expect(await bytesOf(reader.get(at('empty'), 0))).toEqual(Buffer.alloc(0));
    expect(await bytesOf(reader.get('/proc/version', 1_000))).toEqual(readFileSync('/proc/version'));
    expect(await errorOf(bytesOf(reader.get(at('content'), 299_999)))).toMatchObject({ code: 'EFBIG' });
    // What was refused leaves nothing behind.
    expect(await reader.stat(at('empty'))).toMatchObject({ kind: 'file', bytes: 0 });
  });
});

describe('what the policy may leave there', () => {
  it('is an error of its own, and never one of the disk', async () => {
    symlinkSync('/proc/self/mem', at('memory'));
    symlinkSync('/proc/self/root', at('magic'));
    symlinkSync(at('loop'), at('loop'));
    const codes: unknown[] = [];
    for (const name of ['memory', 'magic', 'loop', 'missing', 'x'.repeat(300), '.'])
      codes.push([name.slice(0, 7), await errorOf(reader.open(at(name)))]);
    expect(codes).toMatchObject([
      ['memory', { code: expect.stringMatching(/^(ENODEV|EACCES|ELOOP)$/) }],
      ['magic', { code: 'ELOOP' }],
      ['loop', { code: 'ELOOP' }],
      ['missing', { code: 'ENOENT' }],
      ['xxxxxxx', { code: 'ENAMETOOLONG' }],
      ['.', { code: 'EISDIR' }],
    ]);
    expect(await errorOf(reader.list('/proc', 100_000))).toMatchObject({ code: 'ENODEV' });
    expect(await errorOf(reader.open('/proc/version'))).toMatchObject({ code: 'ENODEV' });
  });

  it('is not opened if it is a terminal, whose driver would answer with an I/O error', async () => {
    const holder = spawn('python3', ['-c', holdsLockedTerminal]);
    const [name] = (await once(holder.stdout, 'data')) as [Buffer];
    symlinkSync(`/dev/pts/${name.toString().trim()}`, at('terminal'));
    expect(await errorOf(reader.open(at('terminal')))).toMatchObject({ code: 'EINVAL' });
    expect(await errorOf(bytesOf(reader.get(at('terminal'), 1)))).toMatchObject({ code: 'EINVAL' });
    holder.stdin.end();
    await once(holder, 'exit');
  });

  it('is never waited for: a pipe, and a file that another process holds back', async () => {
    await once(spawn('mkfifo', [at('pipe')]), 'exit');
    expect(await errorOf(reader.open(at('pipe')))).toMatchObject({ code: 'EINVAL' });
    writeFileSync(at('leased'), 'x');
    const holder = spawn('python3', ['-c', holdsLease, at('leased')]);
    await once(holder.stdout, 'data');
    expect(await errorOf(reader.open(at('leased')))).toMatchObject({ code: 'EAGAIN' });
    holder.stdin.end();
    await once(holder, 'exit');
  });
});

describe('a reader that does not answer', () => {
  it('was ended: the signal is the error', async () => {
    await signalReader('SIGKILL');
    expect(await errorOf(reader.stat('/'))).toMatchObject({ name: 'ReadError', code: 'SIGKILL' });
  });

  it('is given up after its time, even if who has its id may have stopped it', async () => {
    reader.close();
    reader = await startReader(config, 'policy', () => 50);
    await signalReader('SIGSTOP');
    expect(await errorOf(reader.stat('/'))).toMatchObject({ name: 'ReadError', code: 'ETIMEDOUT' });
  });
});
