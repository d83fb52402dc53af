import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { HttpClient } from '#cli/gateway/http-client.ts';
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
    if (kind === 'solution' && !(await solve(sandbox, task))) return outOfTime('the solution');
    return await verify(sandbox, task, kind);
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
  const beside = join(folder, 'environment');
  const isBuilt = ['Dockerfile', 'docker-compose.yaml'].some((name) => existsSync(join(beside, name)));
  if (!existsSync(beside) || isBuilt) return;
  const found = await sandbox.run({ command: 'pwd', timeoutS: uploadS });
  await sandbox.upload(beside, requires.workdir ?? found?.stdout.trim() ?? '/');
}

async function solve(sandbox: TaskSandbox, task: Task): Promise<boolean> {
  await sandbox.upload(join(task.folder, 'solution'), '/solution');
  const ended = await sandbox.run({
    command: 'chmod +x /solution/solve.sh; (/solution/solve.sh) > /logs/agent/oracle.txt 2>&1',
    timeoutS: task.solutionTimeoutS,
    env: { DEBIAN_FRONTEND: 'noninteractive', ...task.solutionEnv },
  });
  return ended !== null;
}

async function verify(sandbox: TaskSandbox, task: Task, kind: Kind): Promise<Shown> {
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
  const reward = readReward(
    await sandbox.read(`${logs}/reward.json`),
    await sandbox.read(`${logs}/reward.txt`),
  );
  if (reward !== null && (kind === 'nop' || isFull(reward, task.fullReward))) {
    return { state: 'passed', detail: describe(reward), verifierTookMs };
  }
  const end = (await sandbox.read(`${logs}/test-stdout.txt`))?.trim().slice(-shownCharacters) ?? '';
  const left = reward === null ? 'left no reward' : `left ${describe(reward)} instead of the full reward`;
  return {
    state: 'failed',
    detail: `${left}. The end of the verifier's output: ${end || '(nothing)'}`,
    verifierTookMs,
  };
}

/** The end of an output explains most. */
const shownCharacters = 1_200;

const describe = (reward: Reward): string =>
  Object.entries(reward)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
