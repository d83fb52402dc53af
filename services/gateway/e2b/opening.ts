import { Failure } from '#src/failure/failure.ts';
import type { Environment } from '#src/model/environment.ts';
import { callId } from '#src/model/ids.ts';
import type { Named } from '#src/ports/fleet/registry.ts';
import type { NewSandbox } from '#src/protocol/e2b/control.ts';
import type { SandboxAnswer } from '#src/protocol/e2b/described.ts';
import type { Caller, CallResult, GatewayCore, OpenRequest, RolloutRef } from '../core-interface.ts';
import { Deadline, inTime } from '#src/waiting/deadline.ts';
import { invalid } from '../http/answer-failure.ts';
import { environmentRef } from '../http/taking.ts';
import { checkAskedNetwork } from './asked-network.ts';
import { buildElsewhere } from './build-steps.ts';
import type { E2bParts } from './parts.ts';
import { type Pass, writePass } from './pass.ts';
import { answerOf, newSandboxId, openingOf, sandboxIdOf } from './sandbox.ts';
import { templateOf } from './template-names.ts';

/**
 * A client waits a minute for its sandbox and then hangs up, with three tries within it. So it gets its answer a little before that (`lineMs`)
 * the line was too long, and to come back later than it would try again by itself.
 */
const comeBackMs = 15_000;
/** The first command: with it the sandbox is the client's own until it ends, and no grant that could be taken back. */
const firstCall = callId('e2b-create');
const firstCallMs = 10_000;
/** All build steps together, so that a client still waits when they have ended. */
const stepsMs = 30_000;
const longestWords = 600;

/** `comesAgain`: with its key, and finds its sandbox or its place in line. Without one nobody but its request knows the id. */
type Opener = { readonly id: OpenRequest['rollout']; readonly comesAgain: boolean };

export function openerOf(
  { random }: E2bParts,
  caller: Caller,
  key: string | readonly string[] | undefined,
): Opener {
  if (typeof key !== 'string' || key === '') return { id: newSandboxId(random), comesAgain: false };
  return { id: sandboxIdOf(caller, key), comesAgain: true };
}

/** Opens a sandbox and waits until it has run its template's build steps. `gone`: its client has hung up. */
export async function openSandbox(
  parts: E2bParts,
  caller: Caller,
  body: NewSandbox,
  { id, comesAgain }: Opener,
  gone: AbortSignal,
): Promise<SandboxAnswer> {
  const { core, lineMs } = parts;
  const template = await templateOf(parts, caller.tenant, body.templateID);
  const environment = await core.environment(environmentRef(template.environment));
  checkAsked(environment, body);
  const pass = passOf(parts, caller, id, { envs: body.envVars ?? {}, ...startOf(template) });
  // What a gateway opened before would be discarded, if it turns out that no other listened.
  await parts.requests.whenDecided(Deadline.in(parts.clock, lineMs));
  await core.open(caller, openingOf(id, body, template, environment));
  const ref = { rollout: id, attempt: 1 };
  try {
    await setUp(core, caller, ref, template, lineMs);
    if (gone.aborted && !comesAgain)
      throw new Failure('capacity_timeout', 'no request waits for this sandbox any longer');
  } catch (thrown) {
    // It would only hold its place, and no repeat would find its steps done.
    const isFailedStep =
      thrown instanceof Failure && (thrown.code === 'invalid_request' || thrown.code === 'setup_failed');
    if (!comesAgain || isFailedStep) await endSoon(parts, caller, ref);
    throw laterOn(thrown);
  }
  return answerOf(id, body.templateID, pass);
}

/** While a request of its client may have been lost, an end waits until that is decided. The answer does not. */
const longestDoubtMs = 600_000;
const promptMs = 1_000;

async function endSoon({ core, clock }: E2bParts, caller: Caller, ref: RolloutRef): Promise<void> {
  const ended = core.close(caller, ref, 'deleted', longestDoubtMs).then(
    () => undefined,
    () => undefined,
  );
  await inTime(clock, Deadline.in(clock, promptMs), ended);
}

/**
 * The first command. Throws `invalid_request` with the last words of a build step that failed, and `setup_failed` if the steps did not end by
 * themselves: a busy or lost node does that, too.
 */
async function setUp(
  core: GatewayCore,
  caller: Caller,
  rollout: RolloutRef,
  { script }: Named,
  lineMs: number,
): Promise<void> {
  const call = { rollout, call: firstCall, waitMs: lineMs };
  if (!script) return void (await core.exec(caller, { ...call, argv: ['true'], timeoutMs: firstCallMs }));
  const argv = ['/bin/sh', '-c', script];
  const result = await core.exec(caller, { ...call, argv, timeoutMs: stepsMs, killAtOnce: true });
  if (result.outcome === 'completed' && result.exitCode === 0) return;
  const cannot = 'the build steps of this template cannot run in a sandbox';
  if (result.outcome === 'completed' && result.exitCode !== null && result.code === null)
    throw invalid(`${cannot}: ${lastWordsOf(result)}; ${buildElsewhere}`);
  const why = result.timedOut
    ? `they took longer than ${stepsMs / 1_000} s`
    : `they did not end by themselves (${result.code ?? result.outcome})`;
  throw new Failure('setup_failed', `${cannot}: ${why}; try again, or ${buildElsewhere}`);
}

const lastWordsOf = ({ stderr, output }: CallResult): string =>
  (stderr || output).trim().slice(-longestWords);

const startOf = ({ workdir }: Named): { readonly cwd?: string } =>
  workdir === undefined ? {} : { cwd: workdir };

function laterOn(thrown: unknown): unknown {
  const isLine =
    thrown instanceof Failure && (thrown.code === 'capacity_timeout' || thrown.code === 'still_running');
  if (!isLine) return thrown;
  const { message, evidence } = thrown;
  return new Failure('capacity_timeout', message, { evidence, retryAfterMs: comeBackMs, cause: thrown });
}

function checkAsked(environment: Environment, body: NewSandbox): void {
  checkAskedNetwork(environment, body);
  const unknown = { mcp: body.mcp, iam: body.iam };
  for (const [name, value] of Object.entries(unknown)) {
    if (value !== undefined && value !== null) throw invalid(`${name} is not there; leave it out`);
  }
  if ((body.volumeMounts ?? []).length > 0) throw invalid('there are no volumes; leave volumeMounts out');
}

/** What its client shows with each command and file of the sandbox. Throws `invalid_request` if it is too long for a header. */
export function passOf(
  { tokens }: E2bParts,
  { run, keyId }: Caller,
  sandbox: string,
  start: Pick<Pass, 'envs' | 'cwd'>,
): string {
  const pass = writePass(tokens, { sandbox, run, key: keyId, ...start });
  if (pass !== null) return pass;
  throw invalid(
    'envs are longer than 5 KB, which is what can travel with each request; give them to the commands that need them',
  );
}
