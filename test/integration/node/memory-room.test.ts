import { totalmem } from 'node:os';
import { afterEach, expect, it } from 'vitest';
import { sandboxId } from '#src/model/ids.ts';
import { recordEvents } from '#test/support/provider-events.ts';
import { startNodeProcess, type TestNode, testTemplate } from '#test/support/sandboxes.ts';

const mebibyte = 1024 * 1024;
/** Of any machine, as few percent as hold one whole sandbox. */
const percent = Math.ceil((100 * 256 * mebibyte) / totalmem());
/** More than half of what may be promised. */
const limitBytes = Math.floor(0.006 * percent * totalmem());

let node: TestNode;
afterEach(() => node.stop());

const requestOf = (name: string) => ({
  sandbox: sandboxId(name),
  template: testTemplate({ memory: { requestBytes: 64 * mebibyte, limitBytes } }),
  tokenSha256: 'a'.repeat(64),
});

it('a sandbox whose limit would be promised twice is unschedulable, and starts when its neighbour has ended', async () => {
  node = await startNodeProcess({ env: { CORRAL_NODE_MEMORY_PERCENT: String(percent) } });
  const events = recordEvents(node.provider);
  await node.provider.create(requestOf('s-first'));
  await events.of(sandboxId('s-first'), 'running');
  await expect(node.provider.create(requestOf('s-second'))).rejects.toMatchObject({
    code: 'unschedulable',
    message: expect.stringMatching(/promised \d+ MiB of the \d+ MiB.*CORRAL_NODE_MEMORY_PERCENT/) as unknown,
  });
  // Asked again it is the same sandbox, promised once.
  await node.provider.create(requestOf('s-first'));
  await node.provider.destroy(sandboxId('s-first'));
  await events.of(sandboxId('s-first'), 'gone');
  await node.provider.create(requestOf('s-second'));
  await events.of(sandboxId('s-second'), 'running');
  await events.stop();
});

it('a disk on top of the memory is promised with it', async () => {
  node = await startNodeProcess({ env: { CORRAL_NODE_MEMORY_PERCENT: String(percent) } });
  const { template, ...rest } = requestOf('s-apart');
  const apart = { ...template, diskApart: true, diskBytes: limitBytes } as const;
  await expect(node.provider.create({ ...rest, template: apart })).rejects.toMatchObject({
    code: 'start_failed',
    message: expect.stringContaining(`may take ${Math.floor((2 * limitBytes) / mebibyte)} MiB`) as unknown,
  });
});

it('a sandbox whose limit is more than the machine has never starts, and says so', async () => {
  node = await startNodeProcess();
  const { template, ...rest } = requestOf('s-huge');
  const memory = { requestBytes: 64 * mebibyte, limitBytes: 2 * totalmem() };
  await expect(node.provider.create({ ...rest, template: { ...template, memory } })).rejects.toMatchObject({
    code: 'start_failed',
    message: expect.stringMatching(/it never starts here; lower its memory limit/) as unknown,
    evidence: { failsEverywhere: true },
  });
});

it('the node says how often it promises its memory, and nothing where it does so once', async () => {
  node = await startNodeProcess();
  expect((await node.provider.limitations()).join(' ')).toMatch(/may add up to \d+ MiB.*machine has \d+ MiB/);
  await node.stop();
  node = await startNodeProcess({ env: { CORRAL_NODE_MEMORY_PERCENT: '100' } });
  expect((await node.provider.limitations()).join(' ')).not.toContain('promised');
});
