import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sandboxId } from '#src/model/ids.ts';
import { savedImage, tarOf } from '#test/builders/image-archive.ts';
import { busyboxRoot } from '#test/support/busybox-root.ts';
import { configOf, layerOf, testImages } from '#test/support/image-store.ts';
import { pullImage } from '#test/support/pull-image.ts';
import { recordEvents } from '#test/support/provider-events.ts';
import { startNodeProcess, testTemplate } from '#test/support/sandboxes.ts';

const mebibyte = 1024 * 1024;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-image-lives-'));
  chmodSync(folder, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true }));

it('an image that was evicted and is back is not read through the view of its former layers', async () => {
  await using images = await testImages(11 * mebibyte);
  const filled = (text: string) =>
    images.archive(text, [tarOf({ path: text, text: text.repeat(3 * mebibyte) })]);
  const [first, other] = [await filled('a'), await filled('b')];
  const before = await images.hold(first);
  before.release();
  (await images.hold(other)).release();
  expect(before.isThere()).toBe(false);
  const after = await images.hold(first);
  expect(after.view).not.toBe(before.view);
  expect(readFileSync(join(after.view, 'a')).length).toBe(3 * mebibyte);
  after.release();
});

it('a create whose answer was lost is accepted again, whatever became of its image', async () => {
  const root = join(folder, 'root');
  mkdirSync(root);
  await busyboxRoot(root, '');
  const layer = layerOf(root);
  const file = join(folder, 'task.tar');
  writeFileSync(file, savedImage(configOf([layer]), [layer]));
  const node = await startNodeProcess();
  const events = recordEvents(node.provider);
  const reference = `docker-archive:${file}`;
  await pullImage(node, reference);
  const sandbox = sandboxId('asked-twice');
  const template = testTemplate({ image: { kind: 'image', reference } });
  const create = () => node.provider.create({ sandbox, template, tokenSha256: '0'.repeat(64) });
  await create();
  await events.of(sandbox, 'running');
  rmSync(file);
  await create();
  await events.stop();
  await node.stop();
});
