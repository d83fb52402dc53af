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

  it('a whiteout below a link of a layer below removes nothing of this machine', async () => {
    execFileSync('touch', [outside]);
    await viewOf([link('out', '/tmp')], [{ path: 'out/.wh.corral-hostile-image', text: '' }]).catch(
      () => null,
    );
    expect(existsSync(outside)).toBe(true);
    execFileSync('rm', [outside]);
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
