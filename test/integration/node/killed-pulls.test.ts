import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tarOf } from '#test/builders/image-archive.ts';
import { type ImageRegistry, startImageRegistry } from '#test/support/image-registry.ts';
import { expectNothingLeft } from '#test/support/left-behind.ts';
import { passOn, playRegistry } from '#test/support/played-registry.ts';
import { pullImage } from '#test/support/pull-image.ts';
import { startNodeProcess, type TestNode } from '#test/support/sandboxes.ts';

let registry: ImageRegistry;
beforeAll(async () => {
  registry = await startImageRegistry();
  await registry.push('tasks/one:1', [tarOf({ path: 'one', text: 'one' })]);
});
afterAll(() => registry[Symbol.asyncDispose]());

const left = (stateFolder: string) => readdirSync(join(stateFolder, 'images/pulls'));

async function crashWhen(reference: string, isThen: Promise<unknown>): Promise<TestNode> {
  const dying = await startNodeProcess();
  const asked = pullImage(dying, reference).catch(() => 'ended with node');
  await isThen;
  await dying.crash();
  await asked;
  return dying;
}

function scratchIn(stateFolder: string): readonly string[] {
  const pulls = join(stateFolder, 'images/pulls');
  try {
    return readdirSync(pulls, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.includes('scratch-'))
      .map((path) => path.split('/').at(-1) ?? '');
  } catch {
    return [];
  }
}

async function expectWhole(dead: TestNode, reference: string): Promise<void> {
  const { stateFolder } = dead;
  expect(left(stateFolder)).not.toEqual([]);
  const again = await startNodeProcess({ stateFolder });
  await pullImage(again, reference);
  expect(left(stateFolder)).toEqual([]);
  await again.stop();
  await expectNothingLeft(stateFolder);
}

describe('a node that is killed', () => {
  it('in the middle of a pull has the image after its next start', async () => {
    const begun = Promise.withResolvers<void>();
    let isStuck = true;
    let blobs = 0;
    const { host, close } = await playRegistry(async (asked) => {
      // The first is the configuration, by which the image is known.
      if (asked.path.includes('/blobs/')) blobs += 1;
      if (!isStuck || blobs < 2) return passOn(registry.host, asked);
      asked.response.writeHead(200, { 'content-length': '1000000' }).write('part');
      begun.resolve();
    });
    const dead = await crashWhen(`${host}/tasks/one:1`, begun.promise);
    isStuck = false;
    await expectWhole(dead, `${host}/tasks/one:1`);
    close();
  });

  it('in the middle of unpacking has the image after its next start', async () => {
    const large = tarOf({ path: 'zeros', text: '\0'.repeat(64 * 1024 * 1024) });
    await registry.push('tasks/large:1', [large]);
    const reference = `${registry.host}/tasks/large:1`;
    const dying = await startNodeProcess();
    const asked = pullImage(dying, reference).catch(() => 'ended with node');
    await expect.poll(() => scratchIn(dying.stateFolder), { timeout: 20_000, interval: 5 }).toContain('tar');
    await dying.crash();
    await asked;
    await expectWhole(dying, reference);
  });
});
