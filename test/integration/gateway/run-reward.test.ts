import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Scope } from '#src/access/keys.ts';
import { itemKey, runId, tenantId } from '#src/model/ids.ts';
import type { GroupReport, RunReport } from '#src/ports/fleet/reports.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { type GatewayUnderTest, startGateway } from './gateway-under-test.ts';

const run: RunReport = {
  tenant: tenantId('acme'),
  run: runId('nightly'),
  state: 'open',
  rollouts: 5,
  open: 0,
  scored: 3,
  discarded: 2,
  voided: 0,
  calls: {},
  blame: {},
  codes: {},
  items: [itemKey('task-1')],
  sandboxMs: { scored: 0, discarded: 0, ungraded: 0 },
};
/** Rewards 1, 3, 2, a lost sandbox, and a rollout that its trainer let expire. */
const group: GroupReport = {
  item: itemKey('task-1'),
  wave: 1,
  n: 5,
  scored: 3,
  discarded: 2,
  discards: { infrastructure: 1, caller: 1 },
  voided: 0,
  mean: 2,
  best: 3,
  spread: 1,
};

let gateway: GatewayUnderTest;
beforeAll(async () => {
  gateway = await startGateway({
    runs: {
      reports: {
        cost: async () => [],
        runs: async () => [run.run],
        run: async () => run,
        groups: async () => [group],
        rollouts: async () => ({ rollouts: [], cursor: null }),
      },
      lifecycle: { heartbeatRun: async () => true, closeRun: async () => 0, void: async () => null },
      record: () => undefined,
      clock: systemClock,
      random: systemRandom,
    },
  });
});
afterAll(() => gateway.stop(1_000));

const ask = (scope: Scope, path: string) =>
  fetch(`${gateway.url}${path}`, { headers: gateway.headersOf(scope) });

const discards = { infrastructure: 1, caller: 1 };

test('a key that looks after its tenant gets the mean with infrastructure discards as zeros, by wave', async () => {
  const answer = await ask('admin', '/v1/runs/nightly');
  expect(await answer.json()).toMatchObject({
    mean: 2,
    reward_if_zeroed: 1.5,
    discards,
    waves: [{ wave: 1, mean: 2, reward_if_zeroed: 1.5, discards }],
  });
});

test("a trainer's key gets the mean alone", async () => {
  const answer = await ask('native', '/v1/runs/nightly');
  expect(answer.status).toBe(200);
  const text = await answer.text();
  expect(JSON.parse(text)).toMatchObject({ mean: 2, discards, waves: [{ mean: 2, discards }] });
  expect(text).not.toContain('zeroed');
  expect(text).not.toContain('1.5');
});

test.each<Scope>(['rft:tools', 'rft:grade', 'fleet'])('a key of scope %s gets no report', async (scope) => {
  expect((await ask(scope, '/v1/runs/nightly')).status).toBe(401);
});

test('no other answer has a place for it', async () => {
  const { paths, components } = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
    readonly components: { readonly schemas: Readonly<Record<string, object>> };
  };
  const holds = Object.entries(components.schemas).filter(([, schema]) =>
    JSON.stringify(schema).includes('reward_if_zeroed'),
  );
  expect(holds.map(([name]) => name).toSorted()).toEqual(['Run', 'Wave']);
  const names = /reward_if_zeroed|schemas\/(?:Run|Wave)"/;
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const answering = operations.filter((operation) => names.test(JSON.stringify(operation)));
  expect(answering.map(({ operationId }) => operationId)).toEqual(['getRun']);
});
