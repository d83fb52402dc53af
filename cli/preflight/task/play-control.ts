import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { HttpClient } from '#cli/gateway/http-client.ts';
import { describeMissing, describeOutputs } from './describe-outputs.ts';
import { isFull, readReward, type Reward } from './reward.ts';
import type { Task } from './read-task.ts';
import { type Command, type Ended, TaskSandbox } from './task-sandbox.ts';

export type Kind = 'nop' | 'solution';

/** What one control showed; `lost`: nothing, because it ran out of time. */
export type Shown = {
  readonly state: 'passed' | 'failed' | 'lost';
  readonly detail: string;
  /** Null: none was left that can be read. */
  readonly reward: Reward | null;
  readonly verifierTookMs: number;
};

/** Where a task is played: a fresh sandbox, or a fresh container. */
export type TaskPlace = {
  /** Null: it ran out of time. */
  run(command: Command): Promise<Ended | null>;
  /** The files below a folder of this machine, below one of the place. */
  upload(from: string, to: string): Promise<void>;
  /** A text file; null: it cannot be read. */
  read(path: string): Promise<string | null>;
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

/** Plays a control in a fresh sandbox. Throws what the gateway refuses. */
export async function playControl(plan: ControlPlan, kind: Kind): Promise<Shown> {
  const { client, environment, task, rolloutId } = plan;
  const sandbox = await TaskSandbox.open(client, environment, task, rolloutId);
  try {
    return await playIn(sandbox, task, kind);
  } finally {
    await sandbox.close();
  }
}

/**
 * Plays a task without a policy, as Harbor 0.25 plays its agents `nop` and `oracle` and then the verifier: exit codes of both scripts
 * count for nothing, only the reward file does.
 */
export async function playIn(place: TaskPlace, task: Task, kind: Kind): Promise<Shown> {
  await prepare(place, task);
  const solved = kind === 'solution' ? await solve(place, task) : null;
  if (solved?.timed_out === true) return outOfTime('the solution');
  return verify(place, task, solved);
}

const outOfTime = (what: string): Shown => ({
  state: 'lost',
  detail: `${what} ran out of time`,
  reward: null,
  verifierTookMs: 0,
});

/** As Harbor does for a task without a Dockerfile: uploads `environment/` into the working directory. */
async function prepare(place: TaskPlace, { folder, requires }: Task): Promise<void> {
  await place.run({ command: `mkdir -p ${logs} /logs/agent /logs/artifacts`, timeoutS: uploadS });
  const files = join(folder, 'environment');
  const isBuilt = ['Dockerfile', 'docker-compose.yaml'].some((name) => existsSync(join(files, name)));
  if (!existsSync(files) || isBuilt) return;
  const found = await place.run({ command: 'pwd', timeoutS: uploadS });
  await place.upload(files, requires.workdir ?? found?.stdout.trim() ?? '/');
}

type Solved = { readonly timed_out: boolean; readonly exit_code: number | null };

async function solve(place: TaskPlace, task: Task): Promise<Solved> {
  await place.upload(join(task.folder, 'solution'), '/solution');
  const ended = await place.run({
    command: `chmod +x /solution/solve.sh; (/solution/solve.sh) > ${solutionOutput} 2>&1`,
    timeoutS: task.solutionTimeoutS,
    env: { DEBIAN_FRONTEND: 'noninteractive', ...task.solutionEnv },
  });
  return ended ?? { timed_out: true, exit_code: null };
}

/** `solved`: null for nop. */
async function verify(place: TaskPlace, task: Task, solved: Solved | null): Promise<Shown> {
  await place.run({ command: `rm -f ${logs}/reward.txt ${logs}/reward.json`, timeoutS: uploadS });
  await place.upload(join(task.folder, 'tests'), '/tests');
  const beganMs = performance.now();
  const ended = await place.run({
    command: `chmod +x /tests/test.sh; (/tests/test.sh) > ${logs}/test-stdout.txt 2>&1`,
    timeoutS: task.verifierTimeoutS,
    env: task.verifierEnv,
  });
  if (ended === null) return outOfTime('the verifier');
  const verifierTookMs = performance.now() - beganMs;
  const json = await place.read(`${logs}/reward.json`);
  const text = await place.read(`${logs}/reward.txt`);
  const reward = readReward(json, text);
  if (reward !== null && (solved === null || isFull(reward, task.fullReward))) {
    return { state: 'passed', detail: describe(reward), reward, verifierTookMs };
  }
  const left =
    reward === null ? describeMissing(json, text) : `left ${describe(reward)} instead of the full reward`;
  const outputs = describeOutputs({
    verifier: await place.read(`${logs}/test-stdout.txt`),
    solution: solved && { exitCode: solved.exit_code, output: await place.read(solutionOutput) },
  });
  return { state: 'failed', detail: `${left}. ${outputs}`, reward, verifierTookMs };
}

const describe = (reward: Reward): string =>
  Object.entries(reward)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
