import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stateFolderAt } from '#cli/fleet/state-folder.ts';
import { startExtraGateway } from '#loadtest/fleet/extra-gateway.ts';
import { facesOf, type RftCall } from '#test/support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { type Held, type RedisProxy, standBeforeRedis } from '#test/support/redis-proxy.ts';
import { sendSignal } from '#test/support/send-signal.ts';

/** The score is how often a command has run. */
const environment = `
name: shell
sandbox: { image: host, disk: 64Mi, processes: 64 }
tools: { shell: { builtin: shell, timeout: 30s } }
grader: { kind: command, command: [sh, -c, 'as-policy sh -c "wc -l < log" > "$CORRAL_SCORE_FILE"'], on_exit: discard, on_timeout: discard, on_out_of_memory: discard, on_broken: discard }
pool: { min_ready: 3, max: 12 }
`;

/** The fleet's own gateway speaks to Redis itself; the line of the one that dies can be cut at any step of a call. */
let corral: FleetOfTest;
let redis: RedisProxy;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: environment } });
  redis = await standBeforeRedis(stateFolderAt(corral.fleet.stateDir).redisSocket);
});
afterAll(async () => {
  await redis.close();
  await corral.stop();
});

/** Sends the call to a gateway that is killed as soon as it has come to that step; resolves with what the caller heard. */
async function sendToDoomed(call: RftCall, script: string, what: Held): Promise<unknown> {
  const { stateDir, apiKey } = corral.fleet;
  const doomed = await startExtraGateway(corral.fleet, join(dirname(stateDir), 'environments'));
  try {
    const reached = redis.hold(script, what);
    const heard = facesOf(doomed.url, apiKey)
      .rft.call(call)
      .catch(() => 'connection lost');
    await reached;
    sendSignal(doomed.pid(), 'SIGKILL');
    return await heard;
  } finally {
    await doomed.stop();
  }
}

const steps = [
  ['received: before it claimed anything', 'claim', 'request', 0],
  ['received: a sandbox is granted and it does not know', 'claim', 'reply', 0],
  ['bound: before the call was admitted', 'admit', 'request', 0],
  ['dispatched by the record, and nothing sent', 'admit', 'reply', 1],
  ['answered by the sandbox, and not stored', 'settle', 'request', 1],
  ['stored, and not sent', 'settle', 'reply', 0],
] as const satisfies readonly (readonly [string, string, Held, number])[];

test.each(steps)(
  'a gateway killed when a call is %s: the repeat at the other is answered, and the command ran once',
  async (name, script, what, inFlight) => {
    const trace = name.replaceAll(/[^a-z]+/g, '_');
    const call = { trace, call: 'c1', command: 'echo ran >> log; cat log' };
    expect(await sendToDoomed(call, script, what)).toBe('connection lost');
    const { body } = await corral.native.get(`/v1/rollouts/${trace}`);
    if (script !== 'claim') expect(body).toMatchObject({ in_flight: inFlight, taint: null });

    const repeat = await corral.rft.call(call);
    expect(repeat).toMatchObject({ status: 200, body: { output: 'ran\n' } });
    expect(await corral.rft.call(call)).toEqual(repeat);
    expect(await corral.native.get(`/v1/rollouts/${trace}`)).toMatchObject({
      body: { taint: null, in_flight: 0, verdict: { kind: 'scorable' }, calls: [{ admitted: 'yes' }] },
    });
    const sample = { output_tools: [{ id: 'c1' }] };
    expect(await corral.rft.grade({ trace, sample })).toMatchObject({ status: 200, body: { score: 1 } });
  },
  60_000,
);
