import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { sandboxId } from '#src/model/ids.ts';
import { expectNothingLeft, leftBy, processesOf } from '#test/support/left-behind.ts';
import { recordEvents } from '#test/support/provider-events.ts';
import { startNodeProcess, type TestNode, testTemplate } from '#test/support/sandboxes.ts';

const tokenSha256 = 'a'.repeat(64);
const ids = Array.from({ length: 6 }, (_, index) => sandboxId(`crash-${index}`));

describe('a node that is killed', () => {
  let nodes: TestNode[] = [];
  afterEach(async () => {
    for (const node of nodes) await node.crash();
    for (const stateFolder of new Set(nodes.map((node) => node.stateFolder))) {
      await (await startNodeProcess({ stateFolder })).stop();
      await expectNothingLeft(stateFolder);
    }
    nodes = [];
  });

  const start = async (stateFolder?: string) => {
    const node = await startNodeProcess(stateFolder === undefined ? {} : { stateFolder });
    nodes.push(node);
    return node;
  };
  it('takes every running sandbox with it', async () => {
    const node = await start();
    const events = recordEvents(node.provider);
    await create(node);
    await Promise.all(ids.map((sandbox) => events.of(sandbox, 'running')));
    expect((await processesOf(node.stateFolder)).length).toBeGreaterThanOrEqual(2 * ids.length);
    await events.stop();

    await node.crash();

    await expect.poll(() => processesOf(node.stateFolder)).toEqual([]);
  });

  // A launch takes some tens of milliseconds, and between two of its steps it hung on nobody.
  it.each([0, 20, 40, 60, 80])('takes sandboxes with it that are only starting, for %i ms', async (ms) => {
    const node = await start();
    await create(node);
    await sleep(ms);
    await node.crash();
    await expect.poll(() => processesOf(node.stateFolder), { timeout: 5_000 }).toEqual([]);
  });

  it('is cleaned up after by the next one, which tells the ends as node_lost before its list', async () => {
    const first = await start();
    const events = recordEvents(first.provider);
    await create(first);
    await Promise.all(ids.map((sandbox) => events.of(sandbox, 'running')));
    await events.stop();
    await first.crash();
    expect(await leftBy(first.stateFolder)).not.toEqual([]);

    const second = await start(first.stateFolder);
    await expectNothingLeftBut(second);
    const seen = recordEvents(second.provider);
    expect(await seen.next('listed')).toMatchObject({ sandboxes: [] });
    const told = seen.all().map((event) => (event.kind === 'gone' ? event.cause : event.kind));
    expect(told).toEqual([...ids.map(() => 'node_lost'), 'listed']);
    await seen.stop();
    await second.stop();
    await expectNothingLeft(first.stateFolder);
  });

  it('ends with its parent when that was asked for, and leaves nothing', async () => {
    const node = await start();
    const events = recordEvents(node.provider);
    await create(node);
    await events.of(ids[0] ?? sandboxId('none'), 'running');
    await events.stop();
    node.process.stdin?.end();
    await expect.poll(() => node.process.exitCode).toBe(0);
    await expectNothingLeft(node.stateFolder);
  });
});

const create = (node: TestNode) =>
  Promise.all(ids.map((sandbox) => node.provider.create({ sandbox, template: testTemplate(), tokenSha256 })));

/** The node itself names its state folder too. */
async function expectNothingLeftBut(node: TestNode): Promise<void> {
  const left = await leftBy(node.stateFolder);
  expect(left.filter((line) => !line.startsWith(`process ${node.process.pid}:`))).toEqual([]);
}
