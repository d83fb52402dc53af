import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sandboxId } from '#src/model/ids.ts';
import { savedImage, tarOf } from '#test/builders/image-archive.ts';
import { busyboxRoot } from '#test/support/busybox-root.ts';
import { startImageRegistry } from '#test/support/image-registry.ts';
import { configOf, layerOf, testImages } from '#test/support/image-store.ts';
import { passOn, playRegistry } from '#test/support/played-registry.ts';
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

it('an archive that is looked at is not judged by the layers of an image that is fetched meanwhile', async () => {
  await using registry = await startImageRegistry();
  await using images = await testImages(32 * mebibyte);
  const base = tarOf({ path: 'base', text: 'b'.repeat(12 * mebibyte) });
  await registry.push('tasks/base:1', [base]);
  await registry.push('tasks/above:1', [base, tarOf({ path: 'above', text: 'above' })]);
  const fetching = Promise.withResolvers<void>();
  let blobs = 0;
  const played = await playRegistry((asked) => {
    if (asked.path.includes('/above/blobs/')) blobs += 1;
    // The first is the configuration.
    if (blobs < 2) return passOn(registry.host, asked);
    asked.response.writeHead(200, { 'content-length': '1000000' }).write('part');
    return fetching.resolve();
  });
  (await images.hold(`${played.host}/tasks/base:1`)).release();
  const held = images.hold(`${played.host}/tasks/above:1`).catch(() => 'it was stopped');
  await fetching.promise;
  const archive = join(images.folder, 'endless.tar');
  execFileSync('mkfifo', ['--mode=644', archive]);
  // It fits alone, and not next to the base.
  const pipe = openSync(archive, 'r+');
  writeSync(pipe, gzipSync(Buffer.alloc(24 * mebibyte)));
  await expect(images.hold(`docker-archive:${archive}`)).rejects.toMatchObject({ code: 'unschedulable' });
  closeSync(pipe);
  played.close();
  await held;
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
