import { callId, environmentName, runId, sandboxId } from '#src/model/ids.ts';
import { createFakeLifecycleStore } from '../fakes/lifecycle-store.ts';
import { createFakePoolStore } from '../fakes/pool-store.ts';
import { FakeSetupStore } from '../fakes/setup-store.ts';
import { fakeOwner, fakeRollout } from '../fakes/rollout-record.ts';
import {
  admitOf,
  claimOf,
  held,
  keyOf,
  minute,
  ownerOf,
  recordOf,
  sandboxOf,
  settlementOf,
  startWorld,
} from '../integration/redis/world.ts';
import { describeLifecycleStore, run, tenant } from './lifecycle-store.ts';
import { describePoolStore, template } from './pool-store.ts';
import { describeSetupStore, endOf, sentBy } from './setup-store.ts';

const nothing = async () => undefined;

describePoolStore('the fake of tests', async () => {
  const pool = createFakePoolStore();
  const { answers } = pool;
  return {
    pool,
    reset: async () => {
      Object.assign(answers, { counts: [], draining: [], waiter: null, launches: [] });
    },
    wants: () =>
      void answers.launches.push({
        template,
        environment: environmentName('unknown'),
        reason: 'refill',
        run: null,
      }),
    waits: async () => {
      answers.waiter = fakeRollout().key;
      pool.hint();
      return answers.waiter;
    },
    drains: async (count) => {
      answers.draining = Array.from({ length: count }, (_, index) => sandboxId(`s-${index}`));
    },
    close: nothing,
  };
});

describePoolStore('fleet state in a real Redis', async () => {
  const world = await startWorld();
  const { fleet } = world;
  const waits = async () => {
    await fleet.claims.claim(claimOf('waiter', { template }));
    return keyOf('waiter');
  };
  const drains = async (count: number) => {
    await world.supply(count, template);
    await fleet.pool.retire(template, minute, 0);
  };
  return {
    pool: fleet.pool,
    reset: () => world.reset(),
    wants: () => undefined,
    waits,
    drains,
    close: () => world.stop(),
  };
});

describeLifecycleStore('the fake of tests', async () => {
  const lifecycle = createFakeLifecycleStore();
  const { answers } = lifecycle;
  return {
    lifecycle,
    reset: nothing,
    expires: async (count) => {
      answers.expired = Array.from({ length: count }, (_, index) =>
        fakeRollout({ owner: fakeOwner(`r-${index}`), state: 'expired' }),
      );
    },
    lapses: async (count) => {
      answers.lapsed = Array.from({ length: count }, (_, index) => ({ tenant, run: runId(`run-${index}`) }));
    },
    opens: async (count) => void (answers.leftInRun = count),
    close: nothing,
  };
});

describeLifecycleStore('fleet state in a real Redis', async () => {
  const world = await startWorld();
  const { fleet } = world;
  const open = async (count: number, runOf: (index: number) => string, face: 'native' | 'rft') => {
    await world.supply(count);
    for (let index = 0; index < count; index += 1) {
      const name = `r-${index}`;
      await held(fleet, claimOf(name, { face, owner: ownerOf(name, runOf(index)) }));
    }
  };
  return {
    lifecycle: fleet.lifecycle,
    reset: () => world.reset(),
    expires: async (count) => {
      await open(count, () => run, 'rft');
      await world.step(16 * minute);
    },
    lapses: async (count) => {
      await open(count, (index) => `run-${index}`, 'native');
      await world.step(6 * minute);
    },
    opens: (count) => open(count, () => run, 'rft'),
    close: () => world.stop(),
  };
});

describeSetupStore('the fake of tests', async () => {
  let setups = new FakeSetupStore([]);
  return {
    setups: () => setups,
    reset: nothing,
    heals: async (...calls) => {
      setups = new FakeSetupStore(calls.map((call) => ({ call, sent: sentBy(call), digest: endOf(call) })));
      return setups.healing;
    },
    close: nothing,
  };
});

describeSetupStore('fleet state in a real Redis', async () => {
  const world = await startWorld();
  const { fleet } = world;
  const key = keyOf('a');
  const admit = async (call: string) =>
    fleet.calls.admit(
      admitOf(await recordOf(fleet, key), call, { budget: null, setup: { sent: sentBy(call), bytes: 1 } }),
    );
  return {
    setups: () => fleet.setups,
    reset: () => world.reset(),
    heals: async (...calls) => {
      await world.supply(2);
      await held(fleet, claimOf('a', { face: 'native' }));
      const ranIn = sandboxOf(await recordOf(fleet, key));
      for (const call of calls) {
        await admit(call);
        await fleet.calls.settle(settlementOf(key, call, { setup: { digest: endOf(call) }, ranIn }));
      }
      await admit('never sent');
      await fleet.calls.unsent(key, callId('never sent'), 'try-1', false);
      await fleet.lifecycle.lose(ranIn, null, 'evicted', {});
      return recordOf(fleet, key);
    },
    close: () => world.stop(),
  };
});
