import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { standBefore } from '#test/support/sandbox-proxy.ts';

const environment = `
name: shell
sandbox: { image: host, disk: 64Mi, processes: 64 }
tools: { shell: { builtin: shell, timeout: 10s } }
grader: { kind: command, command: [sh, -c, 'as-policy sh -c "wc -l < log" > "$CORRAL_SCORE_FILE"'], on_exit: discard, on_timeout: discard, on_out_of_memory: discard, on_broken: discard }
pool: { min_ready: 2, max: 8 }
`;

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: environment } });
});
afterAll(() => corral.stop());

/** A rollout that has a sandbox and no call yet, with a proxy before it. */
async function behindProxy(rollout: string) {
  await corral.native.open(rollout);
  const viewed = async () => (await corral.native.get(`/v1/rollouts/${rollout}`)).body;
  await expect.poll(viewed).toMatchObject({ epoch: { sandbox: expect.any(String) } });
  const { sandbox } = await corral.sandboxOf(rollout);
  return standBefore(corral.fleet.stateDir, sandbox);
}

const evidence = 'echo ran >> log; cat log';
const call = (trace: string, call: string, command = evidence) => corral.rft.call({ trace, call, command });
const ranOnce = { status: 200, body: { output: 'ran\n' } };

/** What the grader counted is what ran: once, whatever the connection did. */
const expectScore = async (trace: string, score: number) =>
  expect(await corral.rft.grade({ trace })).toMatchObject({ status: 200, body: { score } });

test('reset after the whole request was through: sent again, attached, run once, and nobody notices', async () => {
  const proxy = await behindProxy('reset');
  proxy.arm('reset', 2);
  expect(await call('reset', 'c1')).toMatchObject(ranOnce);
  expect(proxy.seen()).toBeGreaterThan(2);
  await expectScore('reset', 1);
  await proxy.close();
});

test('the answer lost after the command had ended: read again from the journal, run once', async () => {
  const proxy = await behindProxy('answer');
  proxy.arm('lost_answer', 2);
  expect(await call('answer', 'c1')).toMatchObject(ranOnce);
  await expectScore('answer', 1);
  await proxy.close();
});

test('the answer stalled in its middle and then flowing again: it is waited for, not asked for twice', async () => {
  const proxy = await behindProxy('stalled');
  proxy.arm('stalled');
  const answer = call('stalled', 'c1');
  await expect.poll(() => proxy.stalled()).toBe(1);
  // Its own command has ended: another call's evidence stands behind it.
  expect(await call('stalled', 'c2')).toMatchObject({ body: { output: 'ran\nran\n' } });
  proxy.flow();
  expect(await answer).toMatchObject(ranOnce);
  expect(proxy.seen()).toBe(2);
  await expectScore('stalled', 2);
  await proxy.close();
});

test('refused for a moment between two calls: the call is held, not answered with our trouble', async () => {
  const proxy = await behindProxy('refused');
  expect(await call('refused', 'c1')).toMatchObject(ranOnce);
  await proxy.refuse();
  const held = call('refused', 'c2');
  await expect
    .poll(async () => (await corral.native.get('/v1/rollouts/refused')).body)
    .toMatchObject({
      in_flight: 1,
    });
  await proxy.accept();
  expect(await held).toMatchObject({ status: 200, body: { output: 'ran\nran\n' } });
  await expectScore('refused', 2);
  await proxy.close();
});

test('killed between the command’s end and its answer: it may have run, the rollout is lost, the repeat says the same', async () => {
  const proxy = await behindProxy('between');
  proxy.arm('stalled');
  const answer = call('between', 'c1');
  await expect.poll(() => proxy.seen()).toBe(1);
  await corral.killSandboxOf('between');
  const lost = {
    status: 503,
    code: 'sandbox_lost',
    blame: 'infrastructure',
    admitted: 'unknown',
    retryable: false,
    tainted: true,
    evidence: { cause: 'sandboxd_killed' },
  } as const;
  expectFailure(await answer, { ...lost, rollout_id: 'between', call_id: 'c1' });
  expectFailure(await call('between', 'c1'), lost);
  expectFailure(await corral.rft.grade({ trace: 'between' }), { ...lost, admitted: 'no' });
  await proxy.close();
});
