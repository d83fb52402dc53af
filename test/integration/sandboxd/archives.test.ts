import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readProcessTable } from '#services/sandboxd/processes/process-table.ts';
import { callId } from '#src/model/ids.ts';
import { LinkError } from '#src/ports/sandbox-link.ts';
import {
  endOfTar,
  readTar,
  TarError,
  tarHeader,
  tarPadding,
  type TarEntry,
} from '#src/protocol/sandboxd/tar.ts';
import { aBind, policyUid, startSandboxd, type TestSandboxd } from '#test/support/sandboxd.ts';

const { signal } = new AbortController();

let sandboxd: TestSandboxd;
beforeAll(async () => {
  sandboxd = await startSandboxd();
  await sandboxd.link.bind(sandboxd.target, aBind(), signal);
});
afterAll(() => sandboxd.stop());

const inWorkspace = (...names: readonly string[]) => join(sandboxd.workspace, ...names);

function put(path: string, bytes: Buffer, call?: string) {
  const to = { path, user: 'policy', form: 'archive' } as const;
  const id = call === undefined ? {} : { call: callId(call) };
  return sandboxd.link.putFile(
    sandboxd.target,
    { ...to, ...id },
    new Blob([new Uint8Array(bytes)]).stream(),
    signal,
  );
}

async function get(path: string, mostBytes = 50_000_000): Promise<Buffer> {
  const from = { path, user: 'policy', form: 'archive', mostBytes } as const;
  return Buffer.concat(await Array.fromAsync(await sandboxd.link.getFile(sandboxd.target, from, signal)));
}

async function troubleOf(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    () => 'no error',
    (error: unknown) => (error instanceof LinkError ? error.trouble : error),
  );
}

type Packed = Partial<TarEntry> & { readonly path: string; readonly text?: string };

function tar(...entries: readonly Packed[]): Buffer {
  const parts = entries.flatMap(({ text = '', ...entry }) => {
    const bytes = Buffer.byteLength(text);
    const whole = { kind: 'file', mode: 0o644, mtimeS: 1_600_000_000, bytes, ...entry } as const;
    return [tarHeader(whole), Buffer.from(text), tarPadding(bytes)];
  });
  return Buffer.concat([...parts, endOfTar]);
}

async function namesIn(bytes: Buffer): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { path } of readTar(new Blob([new Uint8Array(bytes)]).stream())) names.push(path);
  return names;
}

/** As a client reads it: the comment of the archive. */
function leftOutIn(bytes: Buffer): unknown {
  const text = bytes.toString('utf8');
  const begin = text.indexOf('comment={');
  return JSON.parse(text.slice(begin + 'comment='.length, text.indexOf('\n', begin)));
}

const partsWritten = () => (existsSync(inWorkspace('broken')) ? readdirSync(inWorkspace('broken')) : []);

describe('an archive that goes in', () => {
  it('becomes folders, files and links of the policy, with modes and times; owners are nobody’s to choose', async () => {
    const bytes = tar(
      { path: 'bin', kind: 'folder', mode: 0o555 },
      { path: './bin/run.sh', text: '#!/bin/sh\n', mode: 0o4755 },
      { path: '/deep/er/data', text: 'x'.repeat(100_000) },
      { path: 'link', kind: 'link', target: 'bin/run.sh' },
      { path: 'same', kind: 'hard_link', target: 'deep/er/data' },
    );
    expect(await put('in', bytes)).toEqual({ bytes: 100_010, entries: 5 });
    expect(lstatSync(inWorkspace('in/bin/run.sh'))).toMatchObject({
      uid: policyUid,
      mode: 0o100755,
      mtimeMs: 1.6e12,
    });
    expect(statSync(inWorkspace('in/bin')).mode & 0o777).toBe(0o555);
    expect(readlinkSync(inWorkspace('in/link'))).toBe('bin/run.sh');
    expect(statSync(inWorkspace('in/same')).ino).toBe(statSync(inWorkspace('in/deep/er/data')).ino);
  });

  it('of a tar program of this machine', async () => {
    const source = join(sandboxd.folder, 'source');
    mkdirSync(join(source, 'n'.repeat(120)), { recursive: true });
    writeFileSync(join(source, 'n'.repeat(120), 'ünï'), 'text');
    await put('gnu', execFileSync('tar', ['-cf', '-', '-C', source, '.']));
    expect(readFileSync(inWorkspace('gnu', 'n'.repeat(120), 'ünï'), 'utf8')).toBe('text');
  });

  it('replaces what is there, a link by itself and not what it names', async () => {
    await put(
      'over',
      tar({ path: 'victim', text: 'kept' }, { path: 'link', kind: 'link', target: 'victim' }),
    );
    await put('over', tar({ path: 'link', text: 'a file now' }));
    expect(readFileSync(inWorkspace('over/victim'), 'utf8')).toBe('kept');
    expect(readFileSync(inWorkspace('over/link'), 'utf8')).toBe('a file now');
  });

  it('is written once under its id, whatever a later call has changed', async () => {
    await put('once', tar({ path: 'a', text: 'first' }), 'upload-1');
    writeFileSync(inWorkspace('once/a'), 'changed since');
    expect(await put('once', tar({ path: 'a', text: 'first' }), 'upload-1')).toEqual({
      bytes: 5,
      entries: 1,
    });
    expect(readFileSync(inWorkspace('once/a'), 'utf8')).toBe('changed since');
    const elsewhere = troubleOf(put('twice', tar({ path: 'a' }), 'upload-1'));
    expect(await elsewhere).toMatchObject({ status: 409, code: 'call_conflict' });
  });

  it.each([
    ['leads out of its folder', tar({ path: '../out', text: 'x' })],
    ['leads out by a hard link', tar({ path: 'in', kind: 'hard_link', target: '../../secret' })],
    ['is no archive', Buffer.alloc(2048, 'text')],
    ['was cut off', tar({ path: 'a', text: 'x'.repeat(5000) }).subarray(0, 3000)],
  ])('that %s is refused, and sandboxd is as before', async (_name, bytes) => {
    expect(await troubleOf(put('refused', bytes))).toMatchObject({
      status: 422,
      code: 'file_error',
      errno: 'EBADMSG',
    });
    expect(existsSync(inWorkspace('out'))).toBe(false);
    expect(readdirSync(inWorkspace('refused'))).toEqual([]);
  });

  it('goes through a link of the policy no further than the policy’s own commands do', async () => {
    mkdirSync(inWorkspace('trap'));
    symlinkSync(sandboxd.folder, inWorkspace('trap/link'));
    const trouble = await troubleOf(put('trap', tar({ path: 'link/planted', text: 'x' })));
    expect(trouble).toMatchObject({ status: 422, errno: 'EACCES' });
    expect(existsSync(join(sandboxd.folder, 'planted'))).toBe(false);
  });

  it('leaves no half of a file when the upload breaks off', async () => {
    const started = request({
      socketPath: `${sandboxd.folder}/d.sock`,
      method: 'PUT',
      path: '/archive?path=broken&call=upload-2',
      headers: {
        authorization: `Bearer ${sandboxd.token}`,
        'x-corral-sandbox': sandboxd.target.sandbox,
        'x-corral-boot': sandboxd.target.boot ?? '',
      },
    });
    started.on('error', () => {});
    const whole = tar({ path: 'a', text: 'whole' }, { path: 'b', text: 'y'.repeat(100_000) });
    started.write(whole.subarray(0, 50_000));
    await expect.poll(partsWritten).toEqual([expect.stringMatching(/^\.\d+\.part$/), 'a']);
    started.destroy();
    await expect.poll(partsWritten).toEqual(['a']);
    // Under the same id it may be sent again: it was never whole.
    expect(await put('broken', whole, 'upload-2')).toEqual({ bytes: 100_005, entries: 2 });
  });
});

describe('an archive that comes out', () => {
  beforeAll(() => {
    mkdirSync(inWorkspace('out/empty'), { recursive: true });
    writeFileSync(inWorkspace('out/a'), 'a'.repeat(1000));
    writeFileSync(inWorkspace('out/b'), '');
    linkSync(inWorkspace('out/a'), inWorkspace('out/c'));
    symlinkSync('/etc/passwd', inWorkspace('out/link'));
    execFileSync('mkfifo', [inWorkspace('out/pipe')]);
  });

  it('has what is below the folder, links as links, and no pipe', async () => {
    const bytes = await get('out');
    expect(await namesIn(bytes)).toEqual(['a', 'b', 'c', 'empty/', 'link']);
    const listed = execFileSync('tar', ['-tvf', '-'], { input: bytes, encoding: 'utf8' });
    expect(listed).toMatch(/link -> \/etc\/passwd/);
  });

  it('of one file is that file; of a file that the kernel makes up there is none', async () => {
    expect(await namesIn(await get('out/a'))).toEqual(['a']);
    for (const path of ['/proc/self/status', '/proc', '/sys/kernel'])
      expect(await troubleOf(get(path))).toMatchObject({ status: 422, errno: 'ENODEV' });
  });

  it('goes in again as it came', async () => {
    await put('again', await get('out'));
    expect(readdirSync(inWorkspace('again'))).toEqual(['a', 'b', 'c', 'empty', 'link']);
  });

  it('fails as it would for its user, before the first byte: missing, a pipe, closed to it, too large', async () => {
    writeFileSync(inWorkspace('closed'), 'x');
    chmodSync(inWorkspace('closed'), 0);
    expect(await troubleOf(get('missing'))).toMatchObject({ status: 422, errno: 'ENOENT' });
    expect(await troubleOf(get('out/pipe'))).toMatchObject({ status: 422, errno: 'EINVAL' });
    expect(await troubleOf(get('.'))).toMatchObject({ status: 422, errno: 'EACCES' });
    expect(await troubleOf(get('out', 2000))).toMatchObject({ status: 422, errno: 'EFBIG' });
    mkdirSync(inWorkspace('bomb'));
    writeFileSync(inWorkspace('bomb/hole'), '');
    truncateSync(inWorkspace('bomb/hole'), 2 ** 40);
    expect(await troubleOf(get('bomb'))).toMatchObject({ status: 422, errno: 'EFBIG' });
  });

  it('leaves out what cannot be read if it is to report that, and keeps the rest', async () => {
    mkdirSync(inWorkspace('mixed/shut'), { recursive: true });
    for (const name of ['a', 'closed', 'shut/inside']) writeFileSync(inWorkspace('mixed', name), 'x');
    execFileSync('mkfifo', [inWorkspace('mixed/pipe')]);
    writeFileSync(Buffer.concat([Buffer.from(inWorkspace('mixed/')), Buffer.from([0xff])]), 'x');
    chmodSync(inWorkspace('mixed/closed'), 0);
    chmodSync(inWorkspace('mixed/shut'), 0);
    const from = { path: 'mixed', user: 'policy', form: 'archive', mostBytes: 100_000 } as const;
    const tars = await sandboxd.link.getFile(sandboxd.target, { ...from, reportsLeftOut: true }, signal);
    const bytes = Buffer.concat(await Array.fromAsync(tars));
    expect(await namesIn(bytes)).toEqual(['a', 'shut/', './']);
    expect(leftOutIn(bytes)).toEqual({
      left_out: [
        { path: 'closed', why: 'not readable' },
        { path: 'pipe', why: 'no file, folder or link' },
        { path: '\u{fffd}', why: 'name is not UTF-8' },
        { path: 'shut', why: 'not readable' },
      ],
      count: 4,
    });
    expect(execFileSync('tar', ['-tf', '-'], { input: bytes, encoding: 'utf8' })).toBe('a\nshut/\n./\n');
  });

  it('reports the number of what it left out if that is more than a report may name', async () => {
    mkdirSync(inWorkspace('pipes'));
    execFileSync('sh', ['-c', 'for i in $(seq 300); do mkfifo $(printf "%0200d" $i); done'], {
      cwd: inWorkspace('pipes'),
    });
    const from = { path: 'pipes', user: 'policy', form: 'archive', reportsLeftOut: true } as const;
    const reported = async (mostBytes: number) =>
      leftOutIn(
        Buffer.concat(
          await Array.fromAsync(await sandboxd.link.getFile(sandboxd.target, { ...from, mostBytes }, signal)),
        ),
      );
    expect(await reported(1_000_000)).toMatchObject({ left_out: { length: 40 }, count: 300 });
    expect(await reported(4_000)).toEqual({ left_out: [], count: 300 });
  });

  it('is whole, whatever the policy does to its files meanwhile', async () => {
    mkdirSync(inWorkspace('moving'));
    for (const name of ['1', '2', '3', '4'])
      writeFileSync(inWorkspace('moving', name), name.repeat(4_000_000));
    const from = { path: 'moving', user: 'policy', form: 'archive', mostBytes: 50_000_000 } as const;
    const bytes = await sandboxd.link.getFile(sandboxd.target, from, signal);
    const sizes: number[] = [];
    for await (const { content } of readTar(bytes)) {
      let size = 0;
      for await (const chunk of content) size += chunk.length;
      if (sizes.push(size) > 1) continue;
      // The helper is held back by us: what it has not read yet shrinks, goes, and becomes a pipe.
      truncateSync(inWorkspace('moving/2'), 1);
      execFileSync('sh', ['-c', 'rm 3 4; mkfifo 4'], { cwd: inWorkspace('moving') });
    }
    expect(sizes[0]).toBe(4_000_000);
    for (const size of sizes) expect(size).toBe(4_000_000);
  });

  it('cannot be broken off by the policy, which has no rights to what reads it', async () => {
    mkdirSync(inWorkspace('large'));
    for (let file = 0; file < 8; file += 1)
      writeFileSync(inWorkspace('large', `${file}`), 'z'.repeat(4_000_000));
    const paths: string[] = [];
    const allowed: string[] = [];
    for await (const { path } of readTar(await ofLarge())) {
      // It is held back by us, so it lives while it is attacked.
      if (paths.push(path) === 1) allowed.push(...attackReader(sandboxd));
    }
    expect(allowed).toEqual([]);
    expect(paths).toHaveLength(8);
  });

  it('is a broken connection if its reader is lost in a sandbox that was not full', async () => {
    const error = await killed().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(TarError);
  });
});

function ofLarge(): Promise<AsyncIterable<Uint8Array>> {
  const from = { path: 'large', user: 'policy', form: 'archive', mostBytes: 50_000_000 } as const;
  return sandboxd.link.getFile(sandboxd.target, from, signal);
}

async function killed(): Promise<void> {
  for await (const { path } of readTar(await ofLarge()))
    if (path === '0') process.kill(readerOf(sandboxd), 'SIGKILL');
}

/** The process that reads for sandboxd now. */
function readerOf({ process: { pid } }: TestSandboxd): number {
  const children = readProcessTable().filter(({ parent }) => parent === pid);
  const reader = children.find((row) => readFileSync(`/proc/${row.pid}/comm`, 'utf8').startsWith('reader'));
  expect(reader).toBeDefined();
  return reader?.pid ?? 0;
}

/** Tries, as the policy, what would hold up or end a process of its own. Returns what was allowed. */
function attackReader(of: TestSandboxd): readonly string[] {
  const pid = readerOf(of);
  const tries = [
    `kill -STOP ${pid}`,
    `kill -KILL ${pid}`,
    `prlimit --pid ${pid} --nofile=0:0`,
    `renice -n 19 -p ${pid}`,
    `chrt --idle --pid 0 ${pid}`,
    `taskset -p 1 ${pid}`,
    `ls /proc/${pid}/fd/`,
    `cat /proc/${pid}/environ`,
    `head -c 1 /proc/${pid}/mem`,
    `python3 -c 'import ctypes; raise SystemExit(-ctypes.CDLL(None).ptrace(0x4206, ${pid}, 0, 0))'`,
  ];
  return tries.filter(
    (script) => spawnSync('sh', ['-c', script], { uid: policyUid, gid: policyUid }).status === 0,
  );
}
