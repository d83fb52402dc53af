import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { partPid } from '#test/support/parts-of-fleet.ts';

const idleMs = 3_000;

/** The score is how often commands have run. In `brief` a rollout idles out in no time. */
const environment = (name: string, limits: string) => `
name: ${name}
sandbox: { image: host, disk: 16Mi, processes: 64 }
tools: { shell: { builtin: shell, timeout: 30s } }
limits: { ${limits} }
grader: { kind: command, command: [sh, -c, 'as-policy sh -c "wc -l < log" > "$CORRAL_SCORE_FILE"'], on_exit: discard, on_timeout: discard, on_out_of_memory: discard, on_broken: discard }
pool: { min_ready: 2, max: 8 }
`;
const environments = {
  shell: environment('shell', 'tool_calls: 40'),
  brief: environment('brief', `idle: ${idleMs}ms`),
};

/** Its Redis keeps its append-only file. What happens without one is in test/integration/recovery. */
let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments, keepRecords: true });
});
afterAll(() => corral.stop());

const environmentOf = (trace: string) => (trace.startsWith('brief') ? 'brief' : 'shell');
const call = (trace: string, id: string, first = '') =>
  corral.rft.call({
    trace,
    call: id,
    command: `${first} echo ${id} >> log; cat log`,
    environment: environmentOf(trace),
  });
const viewOf = async (trace: string) => (await corral.native.get(`/v1/rollouts/${trace}`)).body;
const said = (...ids: readonly string[]) => ({
  status: 200,
  body: { output: ids.map((id) => `${id}\n`).join('') },
});
const grade = (trace: string, ...ids: readonly string[]) =>
  corral.rft.grade({
    trace,
    sample: { output_tools: ids.map((id) => ({ id })) },
    environment: environmentOf(trace),
  });

test('Redis paused for longer than a lease: a call that ended meanwhile and one that came are answered, and scored', async () => {
  expect(await call('brief_paused', 'c1')).toMatchObject(said('c1'));
  const running = call('brief_paused', 'c2', 'sleep 1;');
  await expect.poll(() => viewOf('brief_paused')).toMatchObject({ in_flight: 1 });
  const redis = partPid(corral.fleet.stateDir, 'redis');
  process.kill(redis, 'SIGSTOP');
  const fresh = call('brief_fresh', 'c1');
  await sleep(idleMs + 500);
  process.kill(redis, 'SIGCONT');
  expect(await running).toMatchObject(said('c1', 'c2'));
  expect(await grade('brief_paused', 'c1', 'c2')).toMatchObject({ status: 200, body: { score: 2 } });
  expect(await fresh).toMatchObject(said('c1'));
});

test('kill -9 of a Redis that keeps its file: answers and scores are what they were, and a running call ends once', async () => {
  const first = await call('kept', 'c1');
  expect(first).toMatchObject(said('c1'));
  expect(await call('scored', 'c1')).toMatchObject(said('c1'));
  expect(await grade('scored', 'c1')).toMatchObject({ status: 200, body: { score: 1 } });
  const running = call('kept', 'c2', 'sleep 1;');
  await expect.poll(() => viewOf('kept')).toMatchObject({ in_flight: 1 });
  const { sandbox } = await corral.sandboxOf('kept');
  await corral.killPart('redis');

  expect(await running).toMatchObject(said('c1', 'c2'));
  expect(await call('kept', 'c1')).toEqual(first);
  expect(await call('kept', 'c2', 'sleep 1;')).toMatchObject(said('c1', 'c2'));
  expect(await viewOf('kept')).toMatchObject({ taint: null, epoch: { sandbox } });
  expect(await grade('kept', 'c1', 'c2')).toMatchObject({ status: 200, body: { score: 2 } });
  expect(await grade('scored', 'c1')).toMatchObject({ status: 200, body: { score: 1 } });
});
