import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { folder, ociLayout, savedImage, tarOf, type Entry } from '#test/builders/image-archive.ts';
import { runCorral } from '#test/support/command-line.ts';

const config = { config: { Env: ['A=1'], WorkingDir: '/app', User: 'dev' }, rootfs: {} };

let base: string;
beforeEach(() => (base = mkdtempSync(join(tmpdir(), 'corral-unpack-'))));
afterEach(() => rmSync(base, { recursive: true }));

const root = () => join(base, 'root');
const inRoot = (path: string) => join(root(), path);
const textIn = (path: string) => readFileSync(inRoot(path), 'utf8');
const modeOf = (path: string) => (lstatSync(inRoot(path)).mode & 0o7777).toString(8);

function unpack(archive: Buffer, ...options: readonly string[]) {
  const file = join(base, 'image.tar');
  writeFileSync(file, archive);
  return runCorral(['image', 'unpack', file, '--to', root(), ...options]);
}

const unpackLayers = (...layers: readonly (readonly Entry[])[]) =>
  unpack(
    savedImage(
      config,
      layers.map((entries) => tarOf(...entries)),
    ),
  );

describe('an archive of an image', () => {
  const layers = [
    tarOf(folder('etc'), { path: 'etc/os-release', text: 'ID=tiny\n' }, { path: 'lower', text: 'lower' }),
    tarOf({ path: 'upper', text: 'upper' }),
  ];

  it.each([
    ['docker save', savedImage(config, layers)],
    [
      'docker save with packed layers',
      savedImage(
        config,
        layers.map((layer) => gzipSync(layer)),
      ),
    ],
    [
      'an OCI layout',
      ociLayout(
        config,
        layers.map((layer) => gzipSync(layer)),
      ),
    ],
    [
      'an OCI layout with zstd',
      ociLayout(
        config,
        layers.map((layer) => zstdCompressSync(layer)),
      ),
    ],
  ])('of %s becomes a folder, with the configuration next to it', async (_name, archive) => {
    const { exitCode, printed, said } = await unpack(archive);
    expect(said).toMatch(/^layer 1 of 2, .*\nlayer 2 of 2, /);
    expect([exitCode, printed]).toEqual([
      0,
      `3 files, 18 B, as rootfs:${root()}\nconfiguration: ${root()}.config.json`,
    ]);
    expect([textIn('lower'), textIn('upper')]).toEqual(['lower', 'upper']);
    expect(JSON.parse(readFileSync(`${root()}.config.json`, 'utf8'))).toEqual(config);
    // As an engine leaves them in a container's export.
    expect([textIn('etc/hosts'), textIn('etc/hostname')]).toEqual(['', '']);
    expect(existsSync(`${root()}.part`)).toBe(false);
  });

  it.skipIf(process.getuid?.() !== 0)(
    'that GNU tar wrote keeps modes, owners, times and links, as root',
    async () => {
      const source = join(base, 'source');
      mkdirSync(join(source, 'closed'), { recursive: true });
      writeFileSync(join(source, 'closed/run'), 'echo');
      execFileSync(
        'sh',
        [
          '-c',
          'chown 7:8 closed/run && chmod 4750 closed/run && chmod 1500 closed && ln closed/run same && ln -s closed/run link && touch -d @1600000000 closed/run && touch -d @1500000000 closed',
        ],
        { cwd: source },
      );
      await unpack(savedImage(config, [execFileSync('tar', ['-cf', '-', '-C', source, '.'])]));
      const run = statSync(inRoot('closed/run'));
      expect([modeOf('closed/run'), modeOf('closed'), run.uid, run.gid]).toEqual(['4750', '1500', 7, 8]);
      expect([run.mtimeMs, statSync(inRoot('closed')).mtimeMs]).toEqual([
        1_600_000_000_000, 1_500_000_000_000,
      ]);
      expect(statSync(inRoot('same')).ino).toBe(run.ino);
      expect(readlinkSync(inRoot('link'))).toBe('closed/run');
    },
  );

  it('of Docker’s older form may name a layer by a link', async () => {
    const layer = tarOf({ path: 'file', text: 'x' });
    const manifest = [{ Config: 'c.json', Layers: ['a/layer.tar', 'b/layer.tar'] }];
    const archive = tarOf(
      { path: 'a/layer.tar', text: layer.toString('latin1') },
      { path: 'b/layer.tar', kind: 'link', target: '../a/layer.tar' },
      { path: 'c.json', text: '{"config":{}}' },
      { path: 'manifest.json', text: JSON.stringify(manifest) },
    );
    expect(await unpack(archive)).toMatchObject({ exitCode: 0 });
    expect(textIn('file')).toBe('x');
  });

  it('is named by its file where no folder is named, and --json prints data', async () => {
    const before = process.cwd();
    const file = join(base, 'fix-git.tar');
    writeFileSync(file, savedImage(config, layers));
    try {
      process.chdir(base);
      const { printed } = await runCorral(['image', 'unpack', file, '--json']);
      const made = join(base, 'fix-git');
      expect(JSON.parse(printed)).toEqual({
        folder: made,
        config: `${made}.config.json`,
        files: 3,
        bytes: 18,
        leftOut: 0,
      });
    } finally {
      process.chdir(before);
    }
  });
});

describe('a layer', () => {
  it('takes away what a lower one has: a file, a folder, and what a folder held', async () => {
    await unpackLayers(
      [
        { path: 'gone', text: '1' },
        { path: 'gone-folder/inner/file', text: '1' },
        { path: 'opaque/old', text: '1' },
        { path: 'opaque/deep/old', text: '1' },
        { path: 'kept/file', text: '1' },
      ],
      [
        { path: '.wh.gone' },
        { path: '.wh.gone-folder' },
        { path: '.wh.never-there' },
        { path: 'nowhere/.wh.file' },
        // Before and after what the folder holds now.
        { path: 'opaque/deep/new', text: '2' },
        { path: 'opaque/.wh..wh..opq' },
        { path: 'opaque/new', text: '2' },
        { path: '.wh..wh.plnk/1.2', text: 'a union file system’s own' },
      ],
    );
    expect(readdirSync(root()).toSorted()).toEqual(['kept', 'opaque']);
    const left = readdirSync(inRoot('opaque'), { recursive: true, encoding: 'utf8' });
    expect(left.toSorted()).toEqual(['deep', 'deep/new', 'new']);
  });

  it('replaces a file by a folder, a folder by a link and a link by a file', async () => {
    await unpackLayers(
      [
        { path: 'a', text: '1' },
        { path: 'b/c', text: '1' },
        { path: 'd', kind: 'link', target: 'a' },
        folder('e'),
      ],
      [
        folder('a'),
        { path: 'a/new', text: '2' },
        { path: 'b', kind: 'link', target: 'a' },
        { path: 'd', text: '2' },
        { ...folder('e'), mode: 0o700 },
      ],
    );
    expect([textIn('a/new'), readlinkSync(inRoot('b')), textIn('d'), modeOf('e')]).toEqual([
      '2',
      'a',
      '2',
      '700',
    ]);
  });

  it('leaves devices and pipes out, and says so', async () => {
    const { printed } = await unpackLayers([
      { path: 'dev/null', type: '3' },
      { path: 'dev/sda', type: '4' },
      { path: 'pipe', type: '6' },
      { path: 'file', text: 'x', wholeMode: 0o6711 },
    ]);
    expect(printed).toContain('3 devices and pipes were left out');
    expect([readdirSync(root()), modeOf('file')]).toEqual([['file'], '6711']);
  });
});

/** What an archive tries to write to. */
const outside = () => join(base, 'outside');

describe('a hostile archive writes nothing outside of its folder', () => {
  beforeEach(() => {
    mkdirSync(outside());
    chmodSync(outside(), 0o700);
    writeFileSync(join(outside(), 'theirs'), 'theirs');
  });
  afterEach(() => {
    expect(readdirSync(outside())).toEqual(['theirs']);
    expect(readFileSync(join(outside(), 'theirs'), 'utf8')).toBe('theirs');
    expect((statSync(outside()).mode & 0o777).toString(8)).toBe('700');
    expect(
      readdirSync(base).filter((name) => !/^(?:image\.tar|outside|root|root\.config\.json)$/.test(name)),
    ).toEqual([]);
  });

  it('by absolute names and links: these begin in the folder', async () => {
    await unpackLayers(
      [
        { path: '/absolute', text: 'in' },
        { path: 'out', kind: 'link', target: outside() },
        { path: 'up', kind: 'link', target: '../../../../../..' },
      ],
      [
        { path: 'out/evil', text: 'in' },
        { path: 'up/evil', text: 'in' },
        { path: 'out/.wh.theirs' },
        { path: `up${outside()}/.wh.theirs` },
      ],
      [{ path: 'out/.wh..wh..opq' }],
    );
    expect([textIn('absolute'), textIn('evil'), readlinkSync(inRoot('out'))]).toEqual([
      'in',
      'in',
      outside(),
    ]);
    expect(readdirSync(inRoot(outside()))).toEqual([]);
  });

  it('by a folder that becomes a link before its mode is given', async () => {
    await unpackLayers(
      [
        { ...folder('a'), mode: 0o777 },
        { ...folder('b/outside'), mode: 0o777 },
      ],
      [
        { path: 'a', kind: 'link', target: outside() },
        { path: 'b', kind: 'link', target: base },
      ],
    );
    expect(readlinkSync(inRoot('a'))).toBe(outside());
  });

  it.each([
    ['names that climb', [{ path: 'a/../../outside/evil', text: 'x' }], /leads out of the folder/],
    ['a hard link that climbs', [{ path: 'a', kind: 'hard_link', target: '../outside/theirs' }], /leads out/],
    ['a whiteout that climbs', [{ path: 'a/.wh...' }], /removes no name/],
    ['a whiteout of a folder itself', [{ path: 'a/.wh..' }], /removes no name/],
    [
      'links without end',
      [
        { path: 'a', kind: 'link', target: 'a' },
        { path: 'a/b', text: 'x' },
      ],
      /have no end/,
    ],
    [
      'a file below a file',
      [
        { path: 'a', text: 'x' },
        { path: 'a/b', text: 'x' },
      ],
      /lies below a file/,
    ],
    ['a root that is a link', [{ path: '/', kind: 'link', target: '/' }], /its root is no folder/],
  ] as const)('by %s: that is refused, and nothing is left', async (_name, entries, reason) => {
    const { exitCode, said } = await unpackLayers(entries);
    expect(exitCode).toBe(2);
    expect(said).toMatch(reason);
    expect(existsSync(root())).toBe(false);
  });

  it('by a hard link to this machine’s files: it is looked for in the folder', async () => {
    const target = join(outside(), 'theirs');
    const { said } = await unpackLayers([{ path: 'a', kind: 'hard_link', target }]);
    expect(said).toContain(`names ${target}, which is no file in it`);
  });
});

describe('what cannot be unpacked', () => {
  const layer = tarOf({ path: 'file', text: 'x' });
  const saved = savedImage(config, [layer]);

  it.each([
    ['is no archive', Buffer.alloc(2048, 'text'), /a number in it cannot be read/],
    ['is compressed as a whole', gzipSync(saved), /decompress it first/],
    ['was cut off', saved.subarray(0, 3000), /cut off/],
    ['holds no image', tarOf({ path: 'file', text: 'x' }), /neither a manifest.json nor an index.json/],
    [
      'lacks a layer',
      tarOf({ path: 'manifest.json', text: '[{"Config":"c","Layers":["l"]}]' }),
      /it lacks c/,
    ],
    [
      'has two images',
      tarOf({ path: 'manifest.json', text: '[{"RepoTags":["a:1"]},{"RepoTags":["b:1"]}]' }),
      /2 images: a:1, b:1/,
    ],
    ['has a broken layer', savedImage(config, [gzipSync(layer).subarray(0, 40)]), /unexpected end of file/],
    ['has an empty layer', savedImage(config, [Buffer.alloc(0)]), /a layer in it is empty/],
  ])('says why, and what to do: it %s', async (_name, archive, reason) => {
    const { exitCode, said } = await unpack(archive);
    expect(said).toMatch(reason);
    expect(said).toContain('docker save IMAGE -o FILE');
    expect(exitCode).toBe(2);
    expect(readdirSync(base)).toEqual(['image.tar']);
  });

  it('is a folder that is there, or a file that is not', async () => {
    mkdirSync(root());
    expect((await unpack(saved)).said).toContain('is there already');
    rmSync(root(), { recursive: true });
    const missing = await runCorral(['image', 'unpack', join(base, 'no.tar'), '--to', root()]);
    expect(missing).toMatchObject({
      exitCode: 2,
      said: expect.stringContaining('there is no file') as string,
    });
  });

  it('a part that an earlier try left is removed first', async () => {
    mkdirSync(join(`${root()}.part`, 'old'), { recursive: true });
    expect(await unpack(saved)).toMatchObject({ exitCode: 0 });
    expect(readdirSync(root())).toEqual(['file']);
  });
});
