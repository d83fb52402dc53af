import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

/* A machine with four times the work that it has processors for. What needs half of its timeout on an idle one ends as there. */

/** Until it has had half a second of a processor: 50 ticks of user and system time. */
const works = 'while read -r -a s < /proc/$$/stat; (( s[13] + s[14] < 50 )); do :; done';
const grader = (command: string) => `
grader: { kind: command, command: [bash, -c, '${command} && echo 1 > "$CORRAL_SCORE_FILE"'], timeout: 1s, on_exit: 0, on_timeout: 0.5, on_out_of_memory: 0, on_broken: 0 }`;
const environment = (name: string, command: string) => `
name: ${name}
sandbox: { image: host, disk: 64Mi, processes: 64, cpu: 1 }
tools: { shell: { builtin: shell, timeout: 60s } }
pool: { min_ready: 1, max: 2 }${grader(command)}
`;

const environments = {
  works: environment('works', works),
  'works-as-policy': environment(
    'works-as-policy',
    `as-policy --timeout 1 bash -c "${works.replaceAll(/[$"]/g, String.raw`\$&`)}"`,
  ),
  sleeps: environment('sleeps', 'sleep 60'),
};

let corral: FleetOfTest;
let others: readonly ChildProcess[] = [];
beforeAll(async () => {
  corral = await startFleetOfTest({ environments });
});
afterAll(() => corral.stop());

async function keepMachineBusy(): Promise<void> {
  others = Array.from({ length: 3 * availableParallelism() }, () =>
    spawn('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' }),
  );
  await Promise.all(others.map((each) => once(each, 'spawn')));
}

async function leaveMachineAlone(): Promise<void> {
  const ends = others.map((each) => once(each, 'exit'));
  for (const each of others) each.kill('SIGKILL');
  await Promise.all(ends);
}

const working = { argv: ['bash', '-c', works] };
const sleeping = { argv: ['sleep', '60'] };
const call = (command: string) => ({ name: 'shell', arguments: { command } });

test.each([
  ['a tool that works for half a second', 'calls', call(works), 'completed'],
  ['a command of the trainer that works for half a second', 'exec', working, 'completed'],
  ['a tool that sleeps for longer than its timeout', 'calls', call('sleep 60'), 'timed_out'],
  ['a command that sleeps for longer than its timeout', 'exec', sleeping, 'timed_out'],
])('on a busy machine %s ends as on an idle one', async (title, kind, asked, outcome) => {
  const rollout = title.replaceAll(' ', '-');
  await corral.native.open(rollout, 'works', { id: 'one' });
  expect(await corral.native.shell(rollout, 'c1', 'true')).toMatchObject({ status: 200 });
  await keepMachineBusy();
  try {
    const answer = await corral.native.post(`/v1/rollouts/${rollout}/${kind}`, {
      call_id: 'c2',
      timeout_s: 1,
      ...asked,
    });
    expect(answer).toMatchObject({ status: 200, body: { outcome } });
  } finally {
    await leaveMachineAlone();
    await corral.native.delete(`/v1/rollouts/${rollout}`);
  }
});

test.each([
  ['a grader that works for half a second', 'works', { score: 1 }],
  ['what a grader runs as the policy for half a second', 'works-as-policy', { score: 1 }],
  [
    'a grader that sleeps for longer than its timeout',
    'sleeps',
    { score: 0.5, detail: { ended: 'timeout' } },
  ],
])('on a busy machine %s has the score that it has on an idle one', async (_, name, grade) => {
  await corral.native.open(name, name, { id: 'one' });
  expect(await corral.native.shell(name, 'c1', 'true')).toMatchObject({ status: 200 });
  await keepMachineBusy();
  try {
    expect(await corral.native.post(`/v1/rollouts/${name}/grade`, {})).toMatchObject({
      status: 200,
      body: grade,
    });
  } finally {
    await leaveMachineAlone();
  }
});
