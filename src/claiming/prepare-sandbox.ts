import { exitsAlike, failsToStartAlike } from '../failure/ends-alike.ts';
import { asFailure, type Evidence, Failure, sandboxdUnreachable } from '../failure/failure.ts';
import { type Environment, isOpenTemplate } from '../model/environment.ts';
import { chargesForRunning } from '../model/grader-leaves.ts';
import type { Item } from '../model/grader.ts';
import { callId } from '../model/ids.ts';
import type { Epoch, RolloutKey } from '../model/rollout.ts';
import { productionTimings } from '../model/timings.ts';
import type { ActivationStamp, ClaimStore } from '../ports/fleet/claims.ts';
import type { LifecycleStore } from '../ports/fleet/lifecycle.ts';
import { isNews } from '../ports/fleet/wake-ups.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { LinkError, type SandboxLink, type SandboxTarget } from '../ports/sandbox-link.ts';
import { labelText } from '../protocol/rollout/label.ts';
import {
  type BindReply,
  type BindRequest,
  type CallAnswer,
  type CallRequest,
  type Ending,
  protocolVersion,
} from '../protocol/sandboxd/wire.ts';
import { chromiumPath } from '../protocol/sandboxd/browser.ts';
import { type Attempt, type RetryDeps, retrying } from '../waiting/retries.ts';
import { ConcurrencyLimit } from '../waiting/concurrency-limit.ts';
import { retryPolicies } from '../waiting/retry-policies.ts';
import { requirementsUnmet } from '../failure/requirements-unmet.ts';
import { sandboxDemands } from './kept-demands.ts';
import { sandboxNeeds, unmetInSandbox } from './unmet-requirements.ts';
import { rowIfKept, rowOf } from './dataset-row.ts';
import { targetOf } from './target.ts';
import type { Wakes } from './waiting-room.ts';
import { type ReplayDeps, replaySetup } from './replay-setup.ts';
import { imageText } from '../environments/image-text.ts';
import { imageOfRow } from '../environments/row-image.ts';
import { placeholdersIn } from '../model/placeholder.ts';

type Prepared =
  | { readonly kind: 'accepted'; readonly activation: ActivationStamp }
  /**
   * It did not work out. `another`: this sandbox will not do, and another may; else every other would fail likewise. `alike`: each
   * other most likely ends the same.
   */
  | {
      readonly kind: 'refused';
      readonly failure: Failure;
      readonly another: boolean;
      readonly alike: boolean;
    };

/** What a bind showed: programs that are not there, a task that cannot run here, and what is so for as long as this sandboxd lives. */
type Found = {
  readonly missing: readonly string[];
  readonly unmet: Failure | null;
  readonly lasting: Pick<ActivationStamp, 'idsApart'>;
};

/** What `setup` runs for a rollout; pure, from the environment and the rollout's dataset row. */
export type SetupOf = (environment: Environment, row: Item | null) => readonly CallRequest[];

type BindDeps = RetryDeps & {
  readonly link: Pick<SandboxLink, 'bind'>;
  readonly wakes: Wakes;
};

type PrepareDeps = BindDeps &
  ReplayDeps & {
    readonly claims: Pick<ClaimStore, 'row'>;
    readonly lifecycle: Pick<LifecycleStore, 'refuse' | 'showsAgain'>;
    readonly link: Pick<SandboxLink, 'bind' | 'call'>;
    readonly setupOf: SetupOf;
  };

/** Each holds a step of 16 MiB at most in four forms: what Redis sent, that parsed, its bytes, and what is sent on. */
const replaysAtOnce = 4;

/** Beyond a step's own timeout: killing its tree on a busy machine. */
const killGraceMs = 10_000;

/**
 * Binds a granted sandbox to its rollout, runs the environment's `setup` in it, and replays the trainer's own set-up if an earlier
 * sandbox was lost; once for all parallel first calls of this process. Across processes all of it is safe to repeat: the sandbox
 * accepts the same owner again, and each command has a call id, which its journal runs once.
 */
export class SandboxPreparation {
  readonly #deps: PrepareDeps;
  readonly #underway = new Map<string, Promise<Prepared>>();
  readonly #replays = new ConcurrencyLimit(replaysAtOnce);

  constructor(deps: PrepareDeps) {
    this.#deps = deps;
  }

  of(rollout: RolloutRecord, environment: Environment): Promise<Prepared> {
    const which = tenancy(rollout.key, rollout.generation);
    const underway = this.#underway.get(which);
    if (underway !== undefined) return underway;
    const preparing = this.#prepare(rollout, environment).finally(() => this.#underway.delete(which));
    this.#underway.set(which, preparing);
    return preparing;
  }

  async #prepare(rollout: RolloutRecord, environment: Environment): Promise<Prepared> {
    const target = targetOf(rollout);
    // What its row lacks, or a row that is lost, another sandbox does not fix.
    const row = environment.expose.length === 0 ? null : await rowOf(this.#deps.claims, rollout);
    const steps = this.#deps.setupOf(environment, row);
    let found: Found;
    try {
      found = await this.#bindAndSetUp(rollout, environment, steps);
      const { missing, unmet, lasting } = found;
      if (
        lasting.idsApart !== true &&
        rollout.owner.role === 'policy' &&
        chargesForRunning(environment.grader)
      )
        return { kind: 'refused', failure: chargesWithOneId(environment), another: false, alike: false };
      if (missing.length > 0) return await this.#lacking(rollout, environment, missing);
      if (unmet !== null) return await this.#unmet(rollout, unmet);
    } catch (thrown) {
      const failure = thrown instanceof LinkError ? sandboxRefused(thrown) : asFailure(thrown);
      if (failure.blame === 'caller') throw failure;
      const another = !refusesUs(thrown);
      return { kind: 'refused', failure, another, alike: thrown instanceof SetupFailed && thrown.alike };
    }
    const prepared = accepted(rollout, target, found.lasting);
    return rollout.healing === null ? prepared : this.#heal(rollout, target, prepared);
  }

  /** What fleet state says, or cannot say now, is not the sandbox's doing. */
  async #heal(rollout: RolloutRecord, target: SandboxTarget, prepared: Prepared): Promise<Prepared> {
    try {
      await this.#replays.run(() => replaySetup(this.#deps, rollout, target));
      return prepared;
    } catch (thrown) {
      if (!(thrown instanceof LinkError)) throw thrown;
      return { kind: 'refused', failure: sandboxRefused(thrown), another: !refusesUs(thrown), alike: false };
    }
  }

  async #lacking(
    rollout: RolloutRecord,
    environment: Environment,
    missing: readonly string[],
  ): Promise<Prepared> {
    const row = isOpenTemplate(environment.template) ? await rowIfKept(this.#deps.claims, rollout) : null;
    return {
      kind: 'refused',
      failure: programsMissing(environment, row, missing),
      another: false,
      alike: false,
    };
  }

  /** In a second fresh sandbox it is the task's or the image's doing; in the first it may be the machine's. Throws it then. */
  async #unmet({ key, template, epoch }: RolloutRecord, failure: Failure): Promise<Prepared> {
    const { lifecycle } = this.#deps;
    const isShownAgain =
      epoch !== null && (await lifecycle.showsAgain(template, failure.message, epoch.sandbox));
    if (!isShownAgain) return { kind: 'refused', failure, another: true, alike: false };
    await lifecycle.refuse(key, failure.evidence);
    throw failure;
  }

  /** The setup may make what the tools and the task need: then sandboxd looks for it with a second bind. */
  async #bindAndSetUp(
    rollout: RolloutRecord,
    environment: Environment,
    steps: readonly CallRequest[],
  ): Promise<Found> {
    const programs = [...fixedPrograms(environment).keys()];
    const needs = sandboxNeeds(environment, sandboxDemands(rollout.needs));
    if (steps.length > 0) {
      await bindSandbox(this.#deps, rollout, environment, {});
      await this.#setUp(targetOf(rollout), steps);
    }
    const bound = await bindSandbox(this.#deps, rollout, environment, { programs, needs });
    const { missing = [], lacks } = bound;
    const [first, ...others] = lacks === undefined ? [] : unmetInSandbox(environment, needs, lacks);
    const unmet = first === undefined ? null : requirementsUnmet([first, ...others]);
    const lasting = bound.isolation === 'two-user' ? { idsApart: true } : {};
    return { missing, unmet, lasting };
  }

  async #setUp(target: SandboxTarget, steps: readonly CallRequest[]): Promise<void> {
    for (const [index, step] of steps.entries()) {
      const answer = await untilEnded(step.timeoutMs + killGraceMs, (waitMs, signal) =>
        this.#deps.link.call(target, setupCall(index), step, waitMs, signal),
      );
      if (answer === 'running' || !succeeded(answer)) throw setupFailed(index, step, answer);
    }
  }
}

const accepted = ({ generation }: RolloutRecord, { boot }: Epoch, lasting: Found['lasting']): Prepared => ({
  kind: 'accepted',
  activation: { generation, boot, ...lasting },
});

/**
 * Binds a granted sandbox to its rollout. A bind that timed out may have been accepted: it is sent again, and the same owner
 * is accepted again. A wake-up of the rollout between two tries that fail says that the sandbox is gone, most likely,
 * so the next failure is the last. The reply says what of `look` is not there. Throws what the link throws.
 */
export async function bindSandbox(
  deps: BindDeps,
  rollout: RolloutRecord,
  environment: Environment,
  look: Pick<BindRequest, 'programs' | 'needs'>,
): Promise<BindReply> {
  const target = targetOf(rollout);
  const request = { ...bindRequest(rollout, environment), ...look };
  const woken = new AbortController();
  const stopListening = deps.wakes.on(rollout.key, (wakeUp) => {
    if (isNews(wakeUp, rollout)) woken.abort();
  });
  const bind: Attempt<BindReply> = ({ remainingMs }) =>
    deps.link.bind(target, request, AbortSignal.timeout(Math.max(1, remainingMs)));
  try {
    return recent(await retrying(deps, retryPolicies.bind, bind, { hurry: woken.signal }));
  } finally {
    stopListening();
  }
}

/** Of a release that is no longer supported, it keeps answers until a gateway confirms them, and none does. */
function recent(bound: BindReply): BindReply {
  if (bound.keepsStdin === true) return bound;
  const message = 'its sandboxd is of a release before the previous one';
  throw new LinkError({ kind: 'refused', status: 400, code: 'protocol_mismatch', message });
}

/** With what the sandbox will tell of its rollout when nobody else knows it any more. */
function bindRequest(rollout: RolloutRecord, { limits: { idleMs, hardLifeMs } }: Environment) {
  const label = labelText({ ...rollout, idleMs, hardLifeMs });
  return { protocol: protocolVersion, owner: rollout.owner, expiresInMs: hardLifeMs, label };
}

/** Ids that no caller can use: they hold a space, which {@link isIdText} refuses. */
const setupCall = (index: number) => callId(`corral setup ${index}`);

const tenancy = (key: RolloutKey, generation: number): string => `${key} ${generation}`;

/**
 * It lives, and takes neither our token nor our words: we are what is wrong, and it works for others. One that speaks only
 * another version of the protocol is of no use to anybody.
 */
function refusesUs(thrown: unknown): boolean {
  if (!(thrown instanceof LinkError) || thrown.trouble.kind !== 'refused') return false;
  const { status, code } = thrown.trouble;
  return status === 401 || (status === 400 && code !== 'protocol_mismatch');
}

function sandboxRefused(error: LinkError): Failure {
  return sandboxdUnreachable(`the granted sandbox did not accept the rollout: ${error.message}`, {
    evidence: { trouble: error.trouble.kind },
    cause: error,
  });
}

/** A step that says it succeeded while a package mirror was away may have left packages out. */
function succeeded(answer: CallAnswer): boolean {
  return answer.ending.kind === 'exited' && answer.ending.exitCode === 0 && !lacksMirrors(answer);
}

const lacksMirrors = ({ evidence: { mirrors } }: CallAnswer): boolean =>
  mirrors !== undefined && mirrors.confirmed + mirrors.lost > 0;

class SetupFailed extends Failure {
  readonly alike: boolean;

  constructor(message: string, evidence: Evidence, alike: boolean) {
    super('setup_failed', message, { evidence });
    this.alike = alike;
  }
}

function setupFailed(index: number, { action }: CallRequest, answer: CallAnswer | 'running'): SetupFailed {
  const ending = answer === 'running' ? 'still running' : describeEnding(answer);
  const seen =
    answer !== 'running' && lacksMirrors(answer) ? `${ending}, and a package mirror failed` : ending;
  const what = whatFailed(index, action);
  const alike = answer !== 'running' && !lacksMirrors(answer) && endsAlike(answer.ending);
  return new SetupFailed(`${what}: ${seen}`, { step: index + 1, seen }, alike);
}

function whatFailed(index: number, action: CallRequest['action']): string {
  if (action.kind === 'query') return `its database ${action.database} cannot be asked`;
  if (action.kind === 'builtin' && action.tool === 'browser_check')
    return `sessions: [browser] cannot be had in this image: it has no Chromium that starts at ${chromiumPath}`;
  if (action.kind === 'builtin') return 'sessions: [terminal] cannot be had in this image: no terminal opens';
  return `setup step ${index + 1} of the environment failed`;
}

function endsAlike(ending: Ending): boolean {
  if (ending.kind === 'exited') return exitsAlike(ending.exitCode);
  return ending.kind === 'not_started' && failsToStartAlike(ending.errno);
}

function describeEnding(answer: CallAnswer): string {
  const { ending, stderr } = answer;
  if (ending.kind === 'not_started') return `not started: ${ending.message}`;
  const how = ending.kind === 'exited' ? `exit code ${ending.exitCode}` : ending.kind.replace('_', ' ');
  return stderr.head === '' ? how : `${how}: ${stderr.head.slice(0, 500)}`;
}

/** Starts a run, or attaches to it; `running` when `waitMs` passed first. */
type AskForEnd = (waitMs: number, signal: AbortSignal) => Promise<CallAnswer | 'running'>;

/** sandboxd holds one request for ten minutes at most, and a network in between needs a margin. */
const longestHoldMs = productionTimings.requestHoldMs;
/** For the answer itself, beyond the wait: a busy machine and a large output. */
const answerGraceMs = 30_000;

/**
 * Waits for the end of a run that may take longer than one request is held: the same request again attaches to it.
 * `running` when `waitMs` passed; throws what `ask` throws.
 */
export async function untilEnded(waitMs: number, ask: AskForEnd): Promise<CallAnswer | 'running'> {
  for (let leftMs = waitMs; ; leftMs -= longestHoldMs) {
    const holdMs = Math.min(leftMs, longestHoldMs);
    const answer = await ask(holdMs, AbortSignal.timeout(holdMs + answerGraceMs));
    if (answer !== 'running' || holdMs === leftMs) return answer;
  }
}

/** The programs that are the environment's word, whatever the model writes, each with the tools that run it. */
function fixedPrograms({ tools }: Pick<Environment, 'tools'>): ReadonlyMap<string, readonly string[]> {
  const toolsOf = new Map<string, readonly string[]>();
  for (const { name, run } of Object.values(tools)) {
    const [program = ''] = run.kind === 'command' ? run.argv : [];
    if (program === '' || placeholdersIn(program).length > 0) continue;
    toolsOf.set(program, [...(toolsOf.get(program) ?? []), name]);
  }
  return toolsOf;
}

/** The author's own mistake, or the image's: the same in every sandbox. */
function programsMissing(environment: Environment, row: Item | null, missing: readonly string[]): Failure {
  const image = imageWords(environment, row);
  const toolsOf = fixedPrograms(environment);
  const each = missing.map((program) => `${program} of ${(toolsOf.get(program) ?? []).join(' and ')}`);
  const message =
    `the image ${image} lacks programs of the tools of environment ${environment.name}, ` +
    `or their user may not run them: ${each.join(', ')}; fix the image, or the tools' commands`;
  return new Failure('setup_failed', message, {
    evidence: { image, programs: missing.join(' ') },
  });
}

/**
 * What commands took and printed is sandboxd's word. An environment that lets them have its id is refused when it is loaded; this is for an
 * operator's `uid: single`, and for a node that is not root. Time that a gateway measures would lack what runs between two calls.
 */
const chargesWithOneId = ({ name }: Environment): Failure =>
  new Failure(
    'setup_failed',
    `the grader of environment ${name} charges for time or output of commands, and here they have the id of sandboxd, ` +
      'so that they could report both themselves; charge for calls alone, or let this fleet give them an id of their own',
    { evidence: { charges: 'time or bytes' } },
  );

function imageWords({ name, template }: Environment, row: Item | null): string {
  if (!isOpenTemplate(template)) return imageText(template.image);
  if (row === null) return 'of its row';
  return imageText(imageOfRow(name, template.image, row));
}
