import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { tarOf } from '#test/builders/image-archive.ts';
import { testImages, type TestImages } from '#test/support/image-store.ts';

const mebibyte = 1024 * 1024;
const count = 80;
/** A base of 1 MiB, and room for some of the images, which take some blocks each. */
const base = tarOf({ path: 'base', text: 'b'.repeat(mebibyte) });
const room = 4 * mebibyte;

/** Each is pulled and unpacked by processes of its own. */
const longMs = 300_000;

let images: TestImages;
beforeAll(async () => (images = await testImages(room)));
afterAll(() => images[Symbol.asyncDispose]());

const stored = (name: string) => readdirSync(join(images.store, name));
const imageOf = (index: number) =>
  images.archive(`task-${index}`, [base, tarOf({ path: 'task', text: `${index}`.padEnd(60_000) })]);

/** As text: each names the archive that it was made from. */
const kept = () =>
  stored('images')
    .map((name) => readFileSync(join(images.store, 'images', name), 'utf8'))
    .join('\n');

it(
  'of many images of one base as many are kept as there is room for, the newest, and the one in use',
  async () => {
    const inUse = await images.hold(await imageOf(0));
    for (let index = 1; index < count; index += 1) {
      const held = await images.hold(await imageOf(index));
      expect(readFileSync(join(held.view, 'task'), 'utf8').trim()).toBe(`${index}`);
      held.release();
    }
    expect(stored('images').length).toBeGreaterThan(10);
    expect(stored('images').length).toBeLessThan(count);
    // One for each image, and their base.
    expect(stored('layers')).toHaveLength(stored('images').length + 1);
    expect(stored('pulls')).toEqual([]);
    expect(readFileSync(join(inUse.view, 'task'), 'utf8').trim()).toBe('0');
    expect(kept()).toContain(`task-${count - 1}.tar`);
    expect(kept()).not.toContain('task-1.tar');
    inUse.release();
  },
  longMs,
);

it(
  'an image has as many layers as container engines take',
  async () => {
    const layers = Array.from({ length: 127 }, (_, index) => tarOf({ path: `of-${index}`, text: 'x' }));
    const held = await images.hold(await images.archive('layers', layers));
    expect(readdirSync(held.view)).toHaveLength(127);
    held.release();
  },
  longMs,
);
