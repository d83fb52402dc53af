import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { ControlAnswer } from '#src/protocol/native/requirements.ts';
import { askNative, type HttpClient } from '#cli/gateway/http-client.ts';
import { type Check, tryOut } from '../check.ts';
import { type Kind, playControl, type Shown } from './play-control.ts';
import { type HealthCheck, readTask, type Task } from './read-task.ts';
import { TaskSandbox } from './task-sandbox.ts';

type TaskUnderTest = { readonly client: HttpClient; readonly environment: string; readonly run: string };

/** A control that fails is played a second time, so that no single accident refuses a task. */
const tries = 2;
/** One that ran out of time shows nothing and is played again, so often. */
const lossesToGiveUp = 3;
/** While another process plays the controls. */
const askAgainMs = 2_000;
/** A third of the lease that the gateway gives. */
const renewMs = 20_000;

/**
 * Whether a task in Harbor's format can run in an environment as it runs in its container: its demands, its health check, and its
 * two controls, whose result the fleet keeps for the task's rollouts.
 */
export async function checkTask(under: TaskUnderTest, folder: string): Promise<readonly Check[]> {
  const { name, task, unmet, remarks } = readTask(folder);
  const { environment } = under;
  const detailOf = unmet.map(
    ({ requirement, wanted, given, fix }) => `${requirement}: ${wanted}, but ${given}; ${fix}`,
  );
  const noted = remarks.map((detail) => ({
    environment,
    what: `${name}: network`,
    ok: true,
    detail,
    tookMs: 0,
  }));
  if (task === null) {
    return [
      { environment, what: `${name}: demands`, ok: false, detail: detailOf.join('. Also: '), tookMs: 0 },
      ...noted,
    ];
  }
  const demands = await tryOut(environment, `${name}: demands`, () => tryStart(under, task));
  if (!demands.ok) return [demands, ...noted];
  return [demands, ...noted, ...(await checkControls(under, task))];
}

/** A sandbox that is bound, and in which the task's own health check passes. */
async function tryStart(under: TaskUnderTest, task: Task): Promise<Pick<Check, 'ok' | 'detail'>> {
  const first = await startOnce(under, task);
  // What a second fresh sandbox shows as well is the task's, not a machine's.
  return first.ok ? first : startOnce(under, task);
}

async function startOnce({ client, environment, run }: TaskUnderTest, task: Task) {
  const rolloutId = `${run}-${task.name}-${systemRandom.text(6)}`;
  const sandbox = await TaskSandbox.open(client, environment, task, rolloutId);
  try {
    await sandbox.run({ command: 'true', timeoutS: 60 });
    const { healthCheck } = task;
    const failing = healthCheck === null ? null : await failsHealthCheck(sandbox, healthCheck);
    if (failing === null) return { ok: true, detail: 'met' };
    const fix = 'repair [environment.healthcheck] in task.toml, or what it looks at in the image';
    return { ok: false, detail: `health_check: ${failing}; ${fix}` };
  } finally {
    await sandbox.close();
  }
}

/** Null: it passes. Throws if it runs out of time, which says nothing about the task. */
async function failsHealthCheck(sandbox: TaskSandbox, check: HealthCheck): Promise<string | null> {
  const { command, timeout_sec: timeoutS = 30, interval_sec: intervalS = 5, retries = 3 } = check;
  for (let failures = 1; ; failures += 1) {
    const ended = await sandbox.run({ command, timeoutS });
    if (ended?.exit_code === 0) return null;
    if (ended === null) throw new Error(`the task's health check did not end in ${timeoutS} s: try again`);
    const how = `exit code ${ended.exit_code}: ${ended.stderr.trim()}`;
    if (failures >= retries) return `the task's health check failed ${failures} times: ${how}`;
    await systemClock.sleep(intervalS * 1000);
  }
}

async function checkControls(under: TaskUnderTest, task: Task): Promise<readonly Check[]> {
  const standing = await holdStanding(under, task);
  const checks: Check[] = [];
  let outcome: Outcome = { outcome: 'inconclusive' };
  try {
    const nop = await checkControl(under, task, 'nop');
    checks.push(nop.check);
    if (nop.shown.state !== 'passed' || !task.hasSolution) {
      outcome = nop.shown.state === 'passed' ? { outcome: 'unproven' } : ended(nop.shown, 'nop');
    } else {
      const solution = await checkControl(under, task, 'solution');
      checks.push(solution.check);
      outcome = ended(solution.shown, 'solution');
    }
  } finally {
    await standing.release(outcome);
  }
  return [...checks, describeOutcome(under, task, outcome)];
}

type Outcome = {
  readonly outcome: 'proven' | 'unproven' | 'refused' | 'inconclusive';
  readonly reason?: string;
  readonly solution_verifier_took_s?: number;
};

function ended({ state, detail, verifierTookMs }: Shown, kind: Kind): Outcome {
  if (state === 'lost') return { outcome: 'inconclusive' };
  if (state === 'failed') return { outcome: 'refused', reason: `${controlNames[kind]} ${detail}` };
  return { outcome: 'proven', solution_verifier_took_s: verifierTookMs / 1000 };
}

const controlNames: Readonly<Record<Kind, string>> = {
  nop: 'the nop control',
  solution: "the task's own solution",
};

const standings: Readonly<Record<Outcome['outcome'], string>> = {
  proven: 'proven: nop leaves a reward, and the solution earns its full reward',
  unproven: 'unproven: the task has no solution that could show whether its verifier works here',
  refused: 'refused: rollouts of this task are refused in this environment until it is proven again',
  inconclusive: 'undecided: a control ran out of time each time it was played; try again',
};

const describeOutcome = ({ environment }: TaskUnderTest, { name }: Task, { outcome }: Outcome): Check => ({
  environment,
  what: `${name}: standing`,
  ok: outcome === 'proven' || outcome === 'unproven',
  detail: standings[outcome],
  tookMs: 0,
});

async function checkControl(under: TaskUnderTest, task: Task, kind: Kind) {
  let shown: Shown = { state: 'lost', detail: '', reward: null, verifierTookMs: 0 };
  const check = await tryOut(under.environment, `${task.name}: control ${kind}`, async () => {
    shown = await untilSure(() => playOnce(under, task, kind));
    return { ok: shown.state === 'passed', detail: shown.detail };
  });
  return { check, shown };
}

function playOnce({ client, environment, run }: TaskUnderTest, task: Task, kind: Kind): Promise<Shown> {
  const rolloutId = `${run}-${task.name}-${kind}-${systemRandom.text(6)}`;
  return playControl({ client, environment, task, rolloutId }, kind);
}

async function untilSure(play: () => Promise<Shown>): Promise<Shown> {
  for (let failures = 0, losses = 0; ;) {
    const shown = await play();
    if (shown.state === 'failed') failures += 1;
    if (shown.state === 'lost') losses += 1;
    if (shown.state === 'passed' || failures === tries || losses === lossesToGiveUp) return shown;
  }
}

/** The lease to find a task's standing; what was recorded before is forgotten. Waits while another process plays. */
async function holdStanding({ client, environment }: TaskUnderTest, { digest }: Task) {
  const of = { environment, task: digest, holder: `preflight-${systemRandom.text(12)}` };
  const ask = (again: boolean) =>
    askNative(client, { method: 'POST', path: '/v1/controls', body: { ...of, again } }, ControlAnswer);
  while ((await ask(true)).standing !== 'play') await systemClock.sleep(askAgainMs);
  const renewing = setInterval(() => void ask(false).catch(() => undefined), renewMs);
  return {
    release: async (outcome: Outcome) => {
      clearInterval(renewing);
      const body = { ...of, ...outcome };
      await askNative(client, { method: 'PUT', path: '/v1/controls', body }, ControlAnswer);
    },
  };
}
