import { execFileSync } from 'node:child_process';
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
import { callId } from '#src/model/ids.ts';
import { LinkError } from '#src/ports/sandbox-link.ts';
import { endOfTar, readTar, tarHeader, tarPadding, type TarEntry } from '#src/protocol/sandboxd/tar.ts';
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

  it('of one file is that file; of a file of the kernel’s making, an empty one', async () => {
    expect(await namesIn(await get('out/a'))).toEqual(['a']);
    expect(await namesIn(await get('/proc/self/status'))).toEqual(['status']);
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

  it('that the policy breaks off by killing our helper ends without its mark, and not as a broken connection', async () => {
    mkdirSync(inWorkspace('large'));
    for (let file = 0; file < 8; file += 1)
      writeFileSync(inWorkspace('large', `${file}`), 'z'.repeat(4_000_000));
    const from = { path: 'large', user: 'policy', form: 'archive', mostBytes: 50_000_000 } as const;
    const bytes = await sandboxd.link.getFile(sandboxd.target, from, signal);
    const read = async () => {
      for await (const { path } of readTar(bytes))
        if (path === '0') execFileSync('pkill', ['-9', '-u', String(policyUid)]);
    };
    await expect(read()).rejects.toThrow('it was cut off before its end');
  });
});
