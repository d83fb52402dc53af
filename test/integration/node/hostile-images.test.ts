import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Entry, folder, tarOf } from '#test/builders/image-archive.ts';
import { layerOf, testImages, type TestImages } from '#test/support/image-store.ts';

const mebibyte = 1024 * 1024;

let images: TestImages;
beforeAll(async () => (images = await testImages(32 * mebibyte)));
afterAll(() => images[Symbol.asyncDispose]());

let names = 0;
/** The folder with the files of an image with these layers. */
async function viewOf(...layers: readonly (readonly Entry[] | Buffer)[]): Promise<string> {
  names += 1;
  const packed = layers.map((layer) => (Buffer.isBuffer(layer) ? layer : tarOf(...layer)));
  const held = await images.hold(await images.archive(`hostile-${names}`, packed));
  held.release();
  return held.view;
}

const file = (path: string, text = path): Entry => ({ path, text });
const link = (path: string, target: string): Entry => ({ path, kind: 'link', target });
const outside = '/tmp/corral-hostile-image';

const filesIn = (view: string) =>
  execFileSync('find', ['.', '-type', 'f'], { cwd: view, encoding: 'utf8' }).trim().split('\n').toSorted();

const leftOut = () => existsSync(outside) || existsSync('/corral-hostile-image');
const pulls = () => readdirSync(join(images.store, 'pulls'));

describe('a layer that leads out of the image', () => {
  it.each<[string, ...(readonly Entry[])[]]>([
    ['a name with ..', [file('../../../../../../tmp/corral-hostile-image')]],
    ['a file below a link of a layer below', [link('out', '/tmp')], [file('out/corral-hostile-image')]],
    [
      'a file below a link that climbs',
      [link('out', '../../../../../../tmp')],
      [file('out/corral-hostile-image')],
    ],
    ['a whiteout of a parent', [folder('a')], [{ path: 'a/.wh...', text: '' }]],
    ['a whiteout of the root', [folder('a')], [{ path: '.wh..', text: '' }]],
  ])('is refused: %s', async (_what, ...layers) => {
    await expect(viewOf(...layers)).rejects.toMatchObject({ code: 'start_failed' });
    expect(leftOut()).toBe(false);
    expect(pulls()).toEqual([]);
  });

  it('paths that are longer than the kernel takes are removed with the pull', async () => {
    const deep = join(images.folder, 'deep');
    mkdirSync(deep);
    execFileSync('mkdir', ['-p', `${'a'.repeat(203)}/`.repeat(20)], { cwd: deep });
    const layer = layerOf(deep);
    execFileSync('rm', ['-rf', deep]);
    await expect(viewOf(layer, [file('../x')])).rejects.toThrow('a name with ..');
    expect(pulls()).toEqual([]);
  });

  it('a name that begins with / is one of the image', async () => {
    const view = await viewOf([file(outside)]);
    expect(readFileSync(join(view, outside), 'utf8')).toBe(outside);
    expect(leftOut()).toBe(false);
  });

  it('so is one that begins with several, in place of a folder too', async () => {
    const view = await viewOf([folder('etc'), file('etc/x/y')], [file('//etc/x', 'file')]);
    expect(readFileSync(join(view, 'etc/x'), 'utf8')).toBe('file');
  });

  it('a whiteout below a link of a layer below removes nothing of this machine, and is refused', async () => {
    execFileSync('touch', [outside]);
    await expect(
      viewOf([link('out', '/tmp')], [{ path: 'out/.wh.corral-hostile-image', text: '' }]),
    ).rejects.toThrow('leads nowhere in the image');
    expect(existsSync(outside)).toBe(true);
    execFileSync('rm', [outside]);
  });

  it.each([
    ['a whiteout', { path: 'var/run/.wh.x', text: '' }],
    ['a file', file('var/run/y')],
  ])(
    '%s below a link that counts from the root of the image is refused by its name',
    async (_what, entry) => {
      await expect(
        viewOf([file('run/x'), folder('var'), link('var/run', '/run')], [entry]),
      ).rejects.toMatchObject({
        code: 'start_failed',
        message: expect.stringContaining('./var/run') as string,
      });
    },
  );

  it('below a link that stays in the image files are hidden and made, and a folder takes its place', async () => {
    const below = [file('usr/lib/old'), link('lib', 'usr/lib'), link('bin', '/usr/bin')];
    const view = await viewOf(below, [
      { path: 'lib/.wh.old', text: '' },
      file('lib/new'),
      folder('bin'),
      file('bin/sh'),
    ]);
    expect(filesIn(view)).toEqual(['./bin/sh', './usr/lib/new']);
  });

  it('a link to a file of this machine stays a link', async () => {
    const view = await viewOf([link('shadow', '/etc/shadow')]);
    expect(lstatSync(join(view, 'shadow')).isSymbolicLink()).toBe(true);
  });
});

describe('what a layer has', () => {
  it('devices are left out, and the rest is there', async () => {
    const view = await viewOf([folder('dev'), { ...file('dev/sda', ''), type: '3' }, file('kept')]);
    expect(readdirSync(view).toSorted()).toEqual(['dev', 'kept']);
    expect(readdirSync(join(view, 'dev'))).toEqual([]);
  });

  it('set-user-id programs are there, in a folder that only root may enter', async () => {
    const view = await viewOf([{ ...file('su'), wholeMode: 0o4755 }]);
    expect(lstatSync(join(view, 'su')).mode & 0o7777).toBe(0o4755);
    expect(statSync(images.store).mode & 0o777).toBe(0o700);
  });

  it('whiteouts and opaque folders hide what is below them, and nothing of their own layer', async () => {
    const view = await viewOf(
      [
        file('gone'),
        folder('opaque'),
        file('opaque/old'),
        folder('kept'),
        file('kept/old'),
        folder('tree'),
        file('tree/old'),
      ],
      [
        { path: '.wh.gone', text: '' },
        file('opaque/new'),
        { path: 'opaque/.wh..wh..opq', text: '' },
        { path: '.wh.tree', text: '' },
        folder('tree'),
        file('tree/new'),
      ],
    );
    expect(filesIn(view)).toEqual(['./kept/old', './opaque/new', './tree/new']);
  });

  it('a folder that two layers have has the files of both', async () => {
    const view = await viewOf(
      [folder('./'), folder('bin'), file('bin/old'), folder('a'), folder('a/b'), file('a/b/old')],
      [folder('./'), folder('a'), folder('a/b'), file('a/b/new')],
    );
    expect(filesIn(view)).toEqual(['./a/b/new', './a/b/old', './bin/old']);
  });

  it('a file in place of a folder and a folder in place of a link are as the upper layer has them', async () => {
    const view = await viewOf(
      [folder('a'), file('a/b'), link('c', 'a')],
      [file('a', 'file'), folder('c'), file('c/d')],
    );
    expect(readFileSync(join(view, 'a'), 'utf8')).toBe('file');
    expect(lstatSync(join(view, 'c')).isDirectory()).toBe(true);
  });
});

describe('an image that takes too much', () => {
  it('a layer that unpacks to more than there is room for is refused', async () => {
    const bomb = tarOf({ path: 'zeros', text: '\0'.repeat(40 * mebibyte) });
    await expect(viewOf(bomb)).rejects.toMatchObject({
      code: 'start_failed',
      message: expect.stringContaining('CORRAL_IMAGE_BYTES') as string,
    });
    expect(pulls()).toEqual([]);
  });

  it('10,000 layers are refused before any is fetched', async () => {
    const layers = Array.from({ length: 10_000 }, () => tarOf(file('x')));
    await expect(viewOf(...layers)).rejects.toThrow('it has 10000 layers, more than the 127');
  });

  it('a layer with other content than the image names is refused, and no other image gets it', async () => {
    const honest = tarOf(file('program', 'honest'));
    const forged = tarOf(file('program', 'forged'));
    const reference = await images.forged('forged', [honest], [forged]);
    await expect(images.hold(reference)).rejects.toMatchObject({ code: 'start_failed' });
    expect(readFileSync(join(await viewOf(honest), 'program'), 'utf8')).toBe('honest');
  });

  it('a layer of which an image has only an address is refused, and nothing asks there', async () => {
    const reference = await images.elsewhere('elsewhere', tarOf(file('x')));
    await expect(images.hold(reference)).rejects.toMatchObject({
      code: 'start_failed',
      message: expect.stringContaining('only an address') as string,
    });
  });

  it('an image for another machine is refused, because its programs would fail one by one', async () => {
    const other = process.arch === 'x64' ? 'arm64' : 'amd64';
    const reference = await images.madeFor('other', other, tarOf(file('x')));
    await expect(images.hold(reference)).rejects.toMatchObject({
      code: 'start_failed',
      message: expect.stringContaining(`"linux/${other}"`) as string,
    });
  });

  it('a whiteout that cannot be read is refused, so that what it hides is not in the image', async () => {
    const whiteout = { path: 'a/.wh.gone', kind: 'link', target: 'x', type: '1' } as const;
    await expect(viewOf([folder('a'), file('a/gone')], [whiteout])).rejects.toMatchObject({
      code: 'start_failed',
    });
  });

  it('of a configuration only what sandboxes need is kept, because those of all images are in memory', async () => {
    const Labels = { much: 'x'.repeat(1_000_000) };
    const held = await images.hold(
      await images.archive('labels', [tarOf(file('labels'))], { Labels, Env: ['A=b'] }),
    );
    const kept = readdirSync(join(images.store, 'images')).map((name) => join(images.store, 'images', name));
    expect(Math.max(...kept.map((name) => statSync(name).size))).toBeLessThan(10_000);
    expect(held.config.env).toEqual({ A: 'b' });
    held.release();
  });

  it('what is no archive is refused', async () => {
    await expect(viewOf(Buffer.from('words'))).rejects.toMatchObject({ code: 'start_failed' });
  });
});

it('packed layers are unpacked', async () => {
  const layer = tarOf(file('words'));
  expect(gzipSync(layer).length).toBeLessThan(layer.length);
  const held = await images.hold(await images.archive('packed', [layer], { WorkingDir: '/x' }, gzipSync));
  expect(readFileSync(join(held.view, 'words'), 'utf8')).toBe('words');
  held.release();
});
