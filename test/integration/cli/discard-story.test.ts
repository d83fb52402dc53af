import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommandLine } from '#cli/program.ts';
import { type FleetOfTest, shellEnvironment, startFleetOfTest } from '#test/support/fleet.ts';

/** Its grader ends badly, which is no score here: the policy may have broken it. */
const escaped = `
name: escaped
sandbox: { image: host, disk: 64Mi, processes: 64 }
tools: { shell: { builtin: shell } }
grader: { kind: command, command: [sh, -c, exit 3], on_exit: discard, on_timeout: discard, on_out_of_memory: discard, on_broken: discard }
pool: { min_ready: 1, max: 4 }
`;

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: shellEnvironment, escaped } });
});
afterAll(() => corral.stop());

/** What a person sees who asks this fleet. */
async function screen(...args: readonly string[]): Promise<string> {
  const said: string[] = [];
  const tell = (text: string) => void said.push(text);
  const terminal = { result: tell, remark: tell, width: 120 };
  await runCommandLine([...args, '--state', corral.fleet.stateDir], terminal);
  return said.join('\n');
}

test('a sandbox killed under its command is told on one screen: what, the evidence, whose fault, what was answered', async () => {
  expect((await corral.rft.call({ trace: 't1', call: 'c1', command: 'echo hi' })).status).toBe(200);
  const cutOff = corral.rft.call({ trace: 't1', call: 'c2', command: 'sleep 60 # the last' });
  await expect
    .poll(async () => (await corral.native.get('/v1/rollouts/t1')).body)
    .toMatchObject({ in_flight: 1 });
  await corral.killSandboxOf('t1');
  expect((await cutOff).status).toBe(503);
  // The log is written a moment after the answers.
  await expect
    .poll(() => screen('rollout', 't1'))
    .toContain('last command: {"command":"sleep 60 # the last"}');
  const story = await screen('rollout', 't1');
  expect(story.split('\n').length).toBeLessThan(40);
  expect(story).toContain('verdict      discard: sandbox_lost (sandboxd_killed), suspected: command');
  expect(story).toMatch(/call c1, shell: completed, exit 0 .*echo hi/);
  expect(story).toMatch(/call c2, shell: infrastructure_failure: sandbox_lost .* blame infrastructure/);
  expect(story).toMatch(/ran in +\S+, boot \w+\n +afterwards +nothing of it answered\n +delivered +unknown/);
  expect(story).toMatch(/signal +SIGKILL/);
  expect(story).toMatch(/call c2 +503 +503 +sandbox_lost +no/);
  expect(story).toMatch(/every later call and grade +503 +503 +sandbox_lost +no/);
});

test('the native verdict tells the same, without the command, which only the event log knows', async () => {
  const { status, body } = await corral.native.get('/v1/rollouts/t1/verdict');
  expect(status).toBe(200);
  expect(body).toMatchObject({
    verdict: { kind: 'discard', code: 'sandbox_lost', cause: 'sandboxd_killed', suspected: 'command' },
    score: null,
    discard: {
      evidence: { signal: 'SIGKILL' },
      epoch: { before: expect.stringContaining('boot'), after: null },
      admitted: 'unknown',
      blame: 'infrastructure',
      told: [
        { to: 'call c2', rft: 503 },
        { rft: 503, native: 503, retry: 'no' },
      ],
    },
  });
});

test('the run tells what the discard cost its wave, and which command is suspected', async () => {
  expect((await corral.rft.call({ trace: 't2', call: 'c1', command: 'echo hi' })).status).toBe(200);
  const { body } = await corral.native.get('/v1/runs/development');
  expect(body).toMatchObject({ discarded: 1, waves: [{ groups: 1, groups_hurt: 1, rollouts_lost: 1 }] });
  expect(body).toMatchObject({ mean: null, reward_if_zeroed: 0, discards: { infrastructure: 1 } });
  // The verdict is another line of the log than the call’s, and may be written later.
  await expect
    .poll(() => screen('run', 'development'))
    .toMatch(/1 +shell +sandbox_lost +\{"command":"sleep 60 # the last"\}/);
  const run = await screen('run', 'development');
  expect(run).toMatch(/wave +groups +lost a member +rollouts +lost +signal lost/);
  expect(run).toMatch(/^mean reward +–, 0 if its 1 infrastructure discards were zeros$/m);
  const scrape = await corral.native.get('/metrics');
  expect(scrape.body).toMatch(
    /corral_calls_settled_total\{outcome="completed",blame="none",code="none",environment="shell"\}/,
  );
  expect(scrape.body).not.toContain('sleep 60');
});

test('a rollout that its grader discards is told with how the grader ended', async () => {
  const trace = { trace: 't3', environment: 'escaped' };
  expect((await corral.rft.call({ ...trace, call: 'c1', command: 'echo break it' })).status).toBe(200);
  for (let turn = 1; turn <= 3; turn += 1) expect((await corral.rft.grade(trace)).status).toBe(503);
  await expect.poll(() => screen('rollout', 't3')).toMatch(/reason +exit code 3/);
  const story = await screen('rollout', 't3');
  expect(story).toContain('verdict      discard: grader_failed, suspected: command');
  expect(story).toContain('last command: {"command":"echo break it"}');
  expect(story).toMatch(/every later call and grade +503 +503 +grader_failed/);
  expect(story).not.toContain('afterwards');
});
