import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { HttpClient } from '#cli/gateway/http-client.ts';
import { describeMissing, describeOutputs } from './describe-outputs.ts';
import { isFull, readReward, type Reward } from './reward.ts';
import type { Task } from './read-task.ts';
import { TaskSandbox } from './task-sandbox.ts';

export type Kind = 'nop' | 'solution';

/** What one control showed; `lost`: nothing, because it ran out of time. */
export type Shown = {
  readonly state: 'passed' | 'failed' | 'lost';
  readonly detail: string;
  readonly verifierTookMs: number;
};

export type ControlPlan = {
  readonly client: HttpClient;
  readonly environment: string;
  readonly task: Task;
  readonly rolloutId: string;
};

const logs = '/logs/verifier';
const solutionOutput = '/logs/agent/oracle.txt';
const uploadS = 60;

/**
 * Plays a task without a policy, in a fresh sandbox, as Harbor 0.25 plays its agents `nop` and `oracle` and then the verifier:
 * exit codes of both scripts count for nothing, only the reward file does. Throws what the gateway refuses.
 */
export async function playControl(plan: ControlPlan, kind: Kind): Promise<Shown> {
  const { client, environment, task, rolloutId } = plan;
  const sandbox = await TaskSandbox.open(client, environment, task, rolloutId);
  try {
    await prepare(sandbox, task);
    const solved = kind === 'solution' ? await solve(sandbox, task) : null;
    if (solved?.timed_out === true) return outOfTime('the solution');
    return await verify(sandbox, task, solved);
  } finally {
    await sandbox.close();
  }
}

const outOfTime = (what: string): Shown => ({
  state: 'lost',
  detail: `${what} ran out of time`,
  verifierTookMs: 0,
});

/** As Harbor does for a task without a Dockerfile: uploads `environment/` into the working directory. */
async function prepare(sandbox: TaskSandbox, { folder, requires }: Task): Promise<void> {
  await sandbox.run({ command: `mkdir -p ${logs} /logs/agent /logs/artifacts`, timeoutS: uploadS });
  const files = join(folder, 'environment');
  const isBuilt = ['Dockerfile', 'docker-compose.yaml'].some((name) => existsSync(join(files, name)));
  if (!existsSync(files) || isBuilt) return;
  const found = await sandbox.run({ command: 'pwd', timeoutS: uploadS });
  await sandbox.upload(files, requires.workdir ?? found?.stdout.trim() ?? '/');
}

type Solved = { readonly timed_out: boolean; readonly exit_code: number | null };

async function solve(sandbox: TaskSandbox, task: Task): Promise<Solved> {
  await sandbox.upload(join(task.folder, 'solution'), '/solution');
  const ended = await sandbox.run({
    command: `chmod +x /solution/solve.sh; (/solution/solve.sh) > ${solutionOutput} 2>&1`,
    timeoutS: task.solutionTimeoutS,
    env: { DEBIAN_FRONTEND: 'noninteractive', ...task.solutionEnv },
  });
  return ended ?? { timed_out: true, exit_code: null };
}

/** `solved`: null for nop. */
async function verify(sandbox: TaskSandbox, task: Task, solved: Solved | null): Promise<Shown> {
  await sandbox.run({ command: `rm -f ${logs}/reward.txt ${logs}/reward.json`, timeoutS: uploadS });
  await sandbox.upload(join(task.folder, 'tests'), '/tests');
  const beganMs = performance.now();
  const ended = await sandbox.run({
    command: `chmod +x /tests/test.sh; (/tests/test.sh) > ${logs}/test-stdout.txt 2>&1`,
    timeoutS: task.verifierTimeoutS,
    env: task.verifierEnv,
  });
  if (ended === null) return outOfTime('the verifier');
  const verifierTookMs = performance.now() - beganMs;
  const json = await sandbox.read(`${logs}/reward.json`);
  const text = await sandbox.read(`${logs}/reward.txt`);
  const reward = readReward(json, text);
  if (reward !== null && (solved === null || isFull(reward, task.fullReward))) {
    return { state: 'passed', detail: describe(reward), verifierTookMs };
  }
  const left =
    reward === null ? describeMissing(json, text) : `left ${describe(reward)} instead of the full reward`;
  const outputs = describeOutputs({
    verifier: await sandbox.read(`${logs}/test-stdout.txt`),
    solution: solved && { exitCode: solved.exit_code, output: await sandbox.read(solutionOutput) },
  });
  return { state: 'failed', detail: `${left}. ${outputs}`, verifierTookMs };
}

const describe = (reward: Reward): string =>
  Object.entries(reward)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
