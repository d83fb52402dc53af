import { afterAll, beforeAll, expect, test } from 'vitest';
import { sandboxdOf } from '#loadtest/fleet/sandbox-of.ts';
import { expectFailure, toldLost } from '#test/support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { starveOfFiles } from '#test/support/starve.ts';

/** The score is how often commands have run. */
const environment = `
name: shell
sandbox: { image: host, disk: 64Mi, processes: 64 }
tools: { shell: { builtin: shell, timeout: 10s } }
grader: { kind: command, command: [sh, -c, 'as-policy sh -c "wc -l < log" > "$CORRAL_SCORE_FILE"'], on_exit: discard, on_timeout: discard, on_out_of_memory: discard, on_broken: discard }
pool: { min_ready: 2, max: 4 }
`;

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: environment } });
});
afterAll(() => corral.stop());

const call = (trace: string, id: string) =>
  corral.rft.call({ trace, call: id, command: 'echo ran >> log; cat log' });
const viewOf = async (trace: string) => (await corral.native.get(`/v1/rollouts/${trace}`)).body;

async function starve(trace: string): Promise<() => void> {
  const pid = await sandboxdOf(await corral.sandboxOf(trace));
  if (pid === null) throw new Error(`the daemon of ${trace} has ended`);
  return starveOfFiles(pid);
}

test('a sandboxd that can open no file for a while: the call is held, its command runs once, the rollout is scored', async () => {
  expect(await call('a_while', 'c1')).toMatchObject({ status: 200, body: { output: 'ran\n' } });
  const feed = await starve('a_while');
  const held = call('a_while', 'c2');
  await expect.poll(() => viewOf('a_while')).toMatchObject({ in_flight: 1 });
  // Long enough for an answer that did not wait; a command takes some ten milliseconds.
  const early = await Promise.race([held, new Promise((resolve) => setTimeout(resolve, 500, 'waits'))]);
  feed();
  expect(early).toBe('waits');
  expect(await held).toMatchObject({ status: 200, body: { output: 'ran\nran\n' } });
  expect(await viewOf('a_while')).toMatchObject({ taint: null, verdict: { kind: 'scorable' } });
  expect(await corral.rft.grade({ trace: 'a_while' })).toMatchObject({ status: 200, body: { score: 2 } });
});

test('a sandboxd that can open no file any more: 503, the rollout is lost, and the model is not told that its program is missing', async () => {
  expect(await call('for_good', 'c1')).toMatchObject({ status: 200, body: { output: 'ran\n' } });
  await starve('for_good');
  const lost = { ...toldLost, rollout_id: 'for_good' } as const;
  expectFailure(await call('for_good', 'c2'), { ...lost, admitted: 'unknown', call_id: 'c2' });
  expectFailure(await call('for_good', 'c2'), { ...lost, admitted: 'unknown', call_id: 'c2' });
  expectFailure(await corral.rft.grade({ trace: 'for_good' }), { ...lost, admitted: 'no' });
  expect(await viewOf('for_good')).toMatchObject({
    score: null,
    verdict: { kind: 'discard', code: 'sandbox_lost', cause: 'sandbox_exited' },
  });
});
