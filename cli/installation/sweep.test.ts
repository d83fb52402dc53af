import { expect, test } from 'vitest';
import type { Api, ApiCall } from '#src/adapters/kubernetes/api/calls.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import { sweep } from './sweep.ts';

const plan = { fleet: 'lab', home: 'corral', sandboxes: 'rollouts', kinds: ['fleet-key'] } as const;

const list = (names: readonly string[]) => ({
  status: 200,
  value: { items: names.map((name) => ({ metadata: { name } })) },
});

/** Pods that are gone some looks after they were asked to go; controllers go by themselves. */
function cluster(looks: {
  readonly installed?: boolean;
  readonly controllers: number;
  readonly sandboxes: number;
}) {
  const asked: ApiCall[] = [];
  let { controllers, sandboxes } = looks;
  const answer = (call: ApiCall) => {
    if (call.verb === 'list') return listed(call);
    return { status: call.verb === 'get' && looks.installed === true ? 200 : 404, value: {} };
  };
  const listed = ({ path }: ApiCall) =>
    path.includes('/corral/')
      ? list(controllers-- > 0 ? ['controller-1'] : [])
      : list(sandboxes-- > 0 ? ['sandbox-1', 'sandbox-2'] : []);
  const api: Api = {
    call: (call) => {
      asked.push(call);
      return Promise.resolve(answer(call));
    },
  };
  const removals = () => asked.filter(({ verb }) => verb === 'delete').map(({ path }) => path);
  return { api, asked, removals };
}

test('sandboxes go when no controller is left to make new ones, each is removed once, and Secrets come last', async () => {
  const clock = createFakeClock();
  const { api, asked, removals } = cluster({ controllers: 2, sandboxes: 3 });
  const told = sweep(api, plan, clock);
  await clock.advance(200_000);
  expect((await told)[0]).toBe('2 sandboxes in rollouts are gone');
  expect(removals()).toEqual([
    '/api/v1/namespaces/rollouts/pods/sandbox-1',
    '/api/v1/namespaces/rollouts/pods/sandbox-2',
    '/api/v1/namespaces/corral/secrets/lab-fleet-key',
    '/api/v1/namespaces/corral/pods/lab-preflight',
  ]);
  const firstRemoval = asked.findIndex(({ verb }) => verb === 'delete');
  expect(asked.slice(0, firstRemoval).filter(({ path }) => path.includes('/corral/pods'))).toHaveLength(3);
});

test('a sandboxes’ namespace that goes as a whole is not looked into', async () => {
  const { api, asked } = cluster({ controllers: 0, sandboxes: 0 });
  await sweep(api, { ...plan, sandboxes: null }, createFakeClock());
  expect(asked.map(({ verb }) => verb)).toEqual(['get', 'delete', 'delete']);
});

test('what does not end is named after three minutes, and nothing more is removed', async () => {
  const clock = createFakeClock();
  const { api, removals } = cluster({ controllers: Infinity, sandboxes: 1 });
  const told = sweep(api, plan, clock).catch((error: unknown) => String(error));
  await clock.advance(200_000);
  expect(await told).toMatch(/still 1 controllers in corral: controller-1/);
  expect(removals()).toEqual([]);
});

test('nothing of a fleet that is installed is removed', async () => {
  const clock = createFakeClock();
  const { api, removals } = cluster({ installed: true, controllers: 0, sandboxes: 2 });
  const told = sweep(api, plan, clock).catch((error: unknown) => String(error));
  await clock.advance(200_000);
  expect(await told).toMatch(/still 1 Deployments in corral: lab-controller/);
  expect(removals()).toEqual([]);
});
