import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endOfTar, readTar, tarHeader, tarPadding, TarError, type TarEntry } from './tar.ts';

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'corral-tar-'))));
afterAll(() => rmSync(folder, { recursive: true }));

const file: TarEntry = { path: 'a.txt', kind: 'file', mode: 0o640, mtimeS: 1_700_000_000, bytes: 5 };

function archive(...entries: readonly (readonly [TarEntry, string])[]): Buffer {
  const parts = entries.flatMap(([entry, content]) => [
    tarHeader(entry),
    Buffer.from(content),
    tarPadding(entry.bytes),
  ]);
  return Buffer.concat([...parts, endOfTar]);
}

/** In chunks of so many bytes, as a network cuts them. */
async function entriesOf(bytes: Buffer, chunkBytes = 1000) {
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  }
  const found: [TarEntry, string][] = [];
  for await (const { content, at, uid, gid, special, ...entry } of readTar(chunks())) {
    const text = Buffer.concat(await Array.fromAsync(content)).toString();
    expect(bytes.toString('utf8', at, at + entry.bytes)).toBe(text);
    expect([uid, gid, special].every(Number.isInteger)).toBe(true);
    found.push([entry, text]);
  }
  return found;
}

describe('what is written', () => {
  const long = `${'deep/'.repeat(60)}ünï ${'x'.repeat(120)}`;
  const all: readonly (readonly [TarEntry, string])[] = [
    [{ ...file, path: 'folder', kind: 'folder', mode: 0o755, bytes: 0 }, ''],
    [file, 'hello'],
    [{ ...file, path: long, bytes: 512 }, 'y'.repeat(512)],
    [{ ...file, path: 'link', kind: 'link', mode: 0o777, bytes: 0, target: long }, ''],
  ];

  it.each([1, 511, 512, 1_000_000])('is read again, in chunks of %i bytes', async (chunkBytes) => {
    const read = await entriesOf(archive(...all), chunkBytes);
    expect(read).toEqual(all.map(([entry, text]) => [{ ...entry, path: pathOf(entry) }, text]));
  });

  it('is a tar to others', () => {
    writeFileSync(join(folder, 'ours.tar'), archive(...all));
    const out = join(folder, 'out');
    mkdirSync(out);
    execFileSync('tar', ['-xf', join(folder, 'ours.tar'), '-C', out]);
    expect(readFileSync(join(out, 'a.txt'), 'utf8')).toBe('hello');
    expect(readFileSync(join(out, 'link'), 'utf8')).toBe('y'.repeat(512));
  });
});

const pathOf = ({ kind, path }: TarEntry) => (kind === 'folder' ? `${path}/` : path);

const source = () => join(folder, 'source');

describe('what others write', () => {
  beforeAll(() => {
    mkdirSync(join(source(), 'f'.repeat(90), 'g'.repeat(90)), { recursive: true });
    writeFileSync(join(source(), 'f'.repeat(90), 'g'.repeat(90), 'long'), 'long');
    writeFileSync(join(source(), 'run.sh'), 'echo');
    chmodSync(join(source(), 'run.sh'), 0o755);
    linkSync(join(source(), 'run.sh'), join(source(), 'same.sh'));
    symlinkSync('run.sh', join(source(), 'link'));
  });

  it.each(['gnu', 'pax', 'ustar', 'v7'])('is read: --format=%s', async (format) => {
    const paths = format === 'v7' ? ['run.sh', 'same.sh', 'link'] : ['.'];
    const bytes = execFileSync('tar', [`--format=${format}`, '-cf', '-', '-C', source(), ...paths]);
    const read = new Map(
      (await entriesOf(bytes)).map(([entry, text]) => [entry.path.replace(/^\.\//, ''), { ...entry, text }]),
    );
    expect(read.get('run.sh')).toMatchObject({ kind: 'file', mode: 0o755, bytes: 4, text: 'echo' });
    expect(read.get('same.sh')).toMatchObject({ kind: 'hard_link' });
    expect(read.get('link')).toMatchObject({ kind: 'link', target: 'run.sh' });
    if (format !== 'v7')
      expect(read.get(`${'f'.repeat(90)}/${'g'.repeat(90)}/long`)).toMatchObject({ text: 'long' });
  });

  it.each(['gnu', 'pax'])(
    'is told with its owner and the bits above its permissions: --format=%s',
    async (format) => {
      const of = ['--owner=5', '--group=3000000', '--mode=4755'];
      const bytes = execFileSync('tar', [`--format=${format}`, ...of, '-cf', '-', '-C', source(), 'run.sh']);
      const [entry] = await Array.fromAsync(readTar(Readable.from([bytes])));
      expect(entry).toMatchObject({ uid: 5, gid: 3_000_000, mode: 0o755, special: 0o4000 });
    },
  );

  it('is passed over where it is a device or a pipe, and that is asked for', async () => {
    const parts = ['3', '4', '6'].map((type) => {
      const header = Buffer.from(tarHeader({ ...file, path: `of-type-${type}`, bytes: 0 }));
      header.write(type, 156);
      return resummed(header);
    });
    const bytes = Buffer.concat([...parts, archive([file, 'hello'])]);
    const passed: string[] = [];
    const read = await Array.fromAsync(readTar(Readable.from([bytes]), (path) => void passed.push(path)));
    expect(read.map(({ path }) => path)).toEqual(['a.txt']);
    expect(passed).toEqual(['of-type-3', 'of-type-4', 'of-type-6']);
  });

  it('is refused where it is a device or a sparse file', async () => {
    const device = Buffer.from(tarHeader({ ...file, bytes: 0 }));
    device.write('3', 156);
    await expect(entriesOf(Buffer.concat([resummed(device), endOfTar]))).rejects.toThrow(/type "3"/);
    const sparse = execFileSync('sh', [
      '-c',
      `cd ${folder} && truncate -s 1G hole && tar --format=pax --sparse -cf - hole`,
    ]);
    await expect(entriesOf(sparse)).rejects.toThrow(TarError);
  });
});

/** With the sum that belongs to what stands there now. */
function resummed(header: Buffer): Buffer {
  header.fill(' ', 148, 156);
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

describe('what is no whole archive is never taken for one', () => {
  const whole = archive([file, 'hello'], [{ ...file, path: 'b' }, 'world']);

  it.each([0, 100, 512, 515, 1024, 1536, 2048, 2559])('cut off after %i bytes', async (bytes) => {
    await expect(entriesOf(whole.subarray(0, bytes))).rejects.toThrow(/cut off/);
  });

  it('text, a broken sum, a size of letters, names without end', async () => {
    await expect(entriesOf(Buffer.alloc(1024, 'text'))).rejects.toThrow(TarError);
    const flipped = Buffer.from(whole);
    flipped[3] = 0x7f;
    await expect(entriesOf(flipped)).rejects.toThrow(/broken/);
    const letters = Buffer.from(tarHeader(file));
    letters.write('zzz', 124);
    await expect(entriesOf(Buffer.concat([resummed(letters), endOfTar]))).rejects.toThrow(/number/);
    const endless = Buffer.from(tarHeader({ ...file, bytes: 1_000_000 }));
    endless.write('L', 156);
    await expect(entriesOf(Buffer.concat([resummed(endless), Buffer.alloc(1_000_000)]))).rejects.toThrow(
      /too long/,
    );
  });

  it('pax records that lie about their length', async () => {
    for (const text of ['99 path=x\n', '0 path=x\n', 'x path=x\n', ' path=x\n', '5']) {
      const said = Buffer.from(text);
      const pax = Buffer.from(tarHeader({ ...file, bytes: said.length }));
      pax.write('x', 156);
      const bytes = Buffer.concat([resummed(pax), said, tarPadding(said.length), whole]);
      await expect(entriesOf(bytes)).rejects.toThrow(/pax record/);
    }
  });
});
