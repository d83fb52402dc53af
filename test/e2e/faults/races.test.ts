import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ExtraGateway, startExtraGateway } from '#loadtest/fleet/extra-gateway.ts';
import { expectFailure, type Faces, facesOf } from '#test/support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { partPid } from '#test/support/parts-of-fleet.ts';
import { standBefore } from '#test/support/sandbox-proxy.ts';
import { sendSignal } from '#test/support/send-signal.ts';

/** The score is how often commands have run. `single` has room for one rollout at a time; `brief` idles out quickly. */
const environment = (name: string, pool: string, limits = '') => `
name: ${name}
sandbox: { image: host, disk: 64Mi, processes: ${name === 'single' ? 65 : 64} }
tools: { shell: { builtin: shell, timeout: 30s } }
${limits}
grader: { kind: command, command: [sh, -c, 'as-policy sh -c "wc -l < log" > "$CORRAL_SCORE_FILE"'], on_exit: discard, on_timeout: discard, on_out_of_memory: discard, on_broken: discard }
pool: { ${pool} }
`;
const environments = {
  shell: environment('shell', 'min_ready: 2, max: 8'),
  single: environment('single', 'min_ready: 0, max: 1'),
  brief: environment('brief', 'min_ready: 2, max: 8', 'limits: { idle: 3s }'),
};

let corral: FleetOfTest;
let extra: ExtraGateway;
let other: Faces;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments });
  extra = await startExtraGateway(corral.fleet, join(dirname(corral.fleet.stateDir), 'environments'));
  other = facesOf(extra.url, corral.fleet.apiKey);
});
afterAll(async () => {
  await extra.stop();
  await corral.stop();
});

const viewOf = async (rollout: string) => (await corral.native.get(`/v1/rollouts/${rollout}`)).body;
const evidence = 'echo ran >> log; wc -l < log';
const sampleOf = (...ids: readonly string[]) => ({ output_tools: ids.map((id) => ({ id })) });

test('parallel first calls with a dead sandbox: all of them run once, in one other sandbox', async () => {
  await corral.native.open('dead');
  await expect.poll(() => viewOf('dead')).toMatchObject({ epoch: { sandbox: expect.any(String) } });
  const { sandbox } = await corral.sandboxOf('dead');
  // Who would tell of the loss stands still, so that every first call meets the dead one.
  const controller = partPid(corral.fleet.stateDir, 'controller');
  process.kill(controller, 'SIGSTOP');
  await corral.killSandboxOf('dead');
  const ids = ['c1', 'c2', 'c3', 'c4'];
  const calls = ids.map((id, place) =>
    (place % 2 === 0 ? corral : other).rft.call({ trace: 'dead', call: id, command: `echo ${id} >> log` }),
  );
  process.kill(controller, 'SIGCONT');
  for (const answer of await Promise.all(calls)) expect(answer).toMatchObject({ status: 200 });
  expect(await corral.rft.call({ trace: 'dead', call: 'c5', command: 'sort log' })).toMatchObject({
    status: 200,
    body: { output: `${ids.join('\n')}\n` },
  });
  expect(await viewOf('dead')).toMatchObject({ taint: null });
  expect(await viewOf('dead')).not.toMatchObject({ epoch: { sandbox } });
  expect(await corral.rft.grade({ trace: 'dead' })).toMatchObject({ status: 200, body: { score: 4 } });
});

/** A rollout that has a sandbox which has not heard of it yet, with a proxy before it. */
async function unbound(rollout: string) {
  await corral.native.open(rollout);
  await expect.poll(() => viewOf(rollout)).toMatchObject({ epoch: { sandbox: expect.any(String) } });
  const { sandbox } = await corral.sandboxOf(rollout);
  return { sandbox, proxy: await standBefore(corral.fleet.stateDir, sandbox, 'bind') };
}

test('a bind whose answer is lost and that landed: sent again, accepted again, the same sandbox', async () => {
  const { sandbox, proxy } = await unbound('landed');
  proxy.arm('lost_answer', 2);
  expect(await corral.rft.call({ trace: 'landed', call: 'c1', command: evidence })).toMatchObject({
    status: 200,
    body: { output: '1\n' },
  });
  expect(proxy.seen()).toBeGreaterThan(2);
  expect(await viewOf('landed')).toMatchObject({ epoch: { sandbox }, taint: null });
  await proxy.close();
});

test('a bind that timed out and landed: the rollout gets another sandbox, and the bound one is destroyed', async () => {
  const { sandbox, proxy } = await unbound('timed_out');
  proxy.arm('stalled', 100);
  expect(await corral.rft.call({ trace: 'timed_out', call: 'c1', command: evidence })).toMatchObject({
    status: 200,
    body: { output: '1\n' },
  });
  expect(await viewOf('timed_out')).toMatchObject({ taint: null });
  expect(await viewOf('timed_out')).not.toMatchObject({ epoch: { sandbox } });
  const sandboxes = async () => (await corral.fleet.sandboxes()).map((one) => one.sandbox);
  await expect.poll(sandboxes).not.toContain(sandbox);
  expect(await corral.rft.grade({ trace: 'timed_out' })).toMatchObject({ status: 200, body: { score: 1 } });
  await proxy.close();
});

const late = (id: string, command = evidence) => ({ trace: 'late', call: id, command });

test('a grade against a late call: it waits for what runs, what comes later is refused, what ran is scored', async () => {
  expect((await corral.rft.call(late('c1'))).status).toBe(200);
  const running = other.rft.call(late('c2', `sleep 1.5; ${evidence}`));
  await expect.poll(() => viewOf('late')).toMatchObject({ in_flight: 1 });
  const graded = corral.rft.grade({ trace: 'late', sample: sampleOf('c1', 'c2') });
  await expect.poll(() => viewOf('late')).toMatchObject({ state: 'grading' });
  expectFailure(await other.rft.call(late('c3')), {
    status: 503,
    code: 'rollout_closed',
    blame: 'caller',
    admitted: 'no',
    retryable: false,
    tainted: false,
    rollout_id: 'late',
    call_id: 'c3',
  });
  expect(await other.rft.call(late('c1'))).toMatchObject({ status: 200, body: { output: '1\n' } });
  expect(await running).toMatchObject({ status: 200, body: { output: '2\n' } });
  expect(await graded).toMatchObject({ status: 200, body: { score: 2 } });
});

test('expiry against a long command: a command longer than the idle time is answered, and the rollout is scored', async () => {
  const call = { trace: 'long', environment: 'brief', call: 'c1', command: `sleep 4; ${evidence}` };
  expect(await corral.rft.call(call)).toMatchObject({ status: 200, body: { output: '1\n' } });
  expect(
    await other.rft.grade({ trace: 'long', environment: 'brief', sample: sampleOf('c1') }),
  ).toMatchObject({
    status: 200,
    body: { score: 1 },
  });
});

const single = (trace: string) => ({ trace, environment: 'single', call: 'c1', command: evidence });

test('a grant to a gateway that died: the repeat at the other gateway gets it, and the command runs once', async () => {
  expect((await corral.rft.call(single('holder'))).status).toBe(200);
  const waiting = other.rft.call(single('waiter')).catch(() => 'connection lost');
  await expect.poll(() => viewOf('waiter')).toMatchObject({ state: 'waiting' });
  sendSignal(extra.pid(), 'SIGKILL');
  expect(await waiting).toBe('connection lost');
  await corral.native.post('/v1/rollouts/holder/finish', {});
  await expect.poll(() => viewOf('waiter')).toMatchObject({ state: 'claimed', in_flight: 0 });
  expect(await corral.rft.call(single('waiter'))).toMatchObject({ status: 200, body: { output: '1\n' } });
  const grade = { trace: 'waiter', environment: 'single', sample: sampleOf('c1') };
  expect(await corral.rft.grade(grade)).toMatchObject({ status: 200, body: { score: 1 } });
});
