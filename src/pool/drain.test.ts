import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { createFakeMetrics } from '#test/fakes/metrics.ts';
import { createFakePoolStore } from '#test/fakes/pool-store.ts';
import { sandboxId, type SandboxId } from '../model/ids.ts';
import { createDrain } from './drain.ts';
import { SandboxAccount } from './sandbox-account.ts';

const [one, other] = [sandboxId('sandbox-1'), sandboxId('sandbox-2')] as const;

function world(destroy: (sandbox: SandboxId) => Promise<void> = () => Promise.resolve()) {
  const pool = createFakePoolStore();
  const clock = createFakeClock();
  const account = new SandboxAccount();
  const destroyed: SandboxId[] = [];
  const provider = {
    destroy: async (sandbox: SandboxId) => {
      await destroy(sandbox);
      destroyed.push(sandbox);
    },
  };
  const drain = createDrain({ pool, provider, account, clock, metrics: createFakeMetrics() });
  pool.answers.draining = [one, other];
  return { pool, clock, account, destroyed, drain };
}

test('what drains is destroyed, and forgotten only when the provider said that it is gone', async () => {
  const { pool, account, destroyed, drain } = world();
  await drain();
  expect(destroyed).toEqual([one, other]);
  expect(pool.forgotten).toEqual([]);
  account.apply({ kind: 'gone', sandbox: one, cause: 'deleted', evidence: {} });
  await drain();
  expect(pool.forgotten).toEqual([one]);
});

test('a removal that was accepted is not asked for again at every look, but after a while', async () => {
  const { clock, destroyed, drain } = world();
  await drain();
  await clock.advance(5_000);
  await drain();
  expect(destroyed).toHaveLength(2);
  await clock.advance(5_000);
  await drain();
  expect(destroyed).toHaveLength(4);
});

test('in a pass that lasts, each has its while from its own asking on', async () => {
  const { clock, destroyed, drain } = world(() => clock.advance(6_000));
  await drain();
  expect(destroyed).toHaveLength(2);
  await drain();
  expect(destroyed).toHaveLength(2);
});

test('one that cannot be destroyed does not keep the others, is told, and is tried again at the next look', async () => {
  let broken = true;
  const { destroyed, drain } = world((sandbox) =>
    broken && sandbox === one ? Promise.reject(new Error('busy')) : Promise.resolve(),
  );
  await expect(drain()).rejects.toThrow('busy');
  expect(destroyed).toEqual([other]);
  broken = false;
  await drain();
  expect(destroyed).toEqual([other, one]);
});
