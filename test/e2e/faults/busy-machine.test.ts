import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

/* A machine with five times the work that it has processors for. A grader that needs half of its timeout on an idle one scores as there. */

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
  others = Array.from({ length: 4 * availableParallelism() }, () =>
    spawn('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' }),
  );
  await Promise.all(others.map((each) => once(each, 'spawn')));
}

async function leaveMachineAlone(): Promise<void> {
  const ends = others.map((each) => once(each, 'exit'));
  for (const each of others) each.kill('SIGKILL');
  await Promise.all(ends);
}

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
