import { Failure } from '#src/failure/failure.ts';
import { type BootId, bootId, type SandboxId } from '#src/model/ids.ts';
import type { SandboxAddress } from '#src/model/rollout.ts';
import type { Template } from '#src/model/environment.ts';
import type { Clock } from '#src/ports/clock.ts';
import { LinkError, type SandboxLink, type SandboxTarget } from '#src/ports/sandbox-link.ts';
import type { SandboxProvider } from '#src/ports/sandbox-provider.ts';
import type { Presence } from '../presence.ts';
import { withDeadline } from './deadline.ts';
import type { ProvenTemplates } from './proven.ts';

/**
 * Starting one sandbox, step by step:
 *
 *   create → running → answering → prepare → probe → started
 *
 * Each step may be done again by another controller after this one died, and then finds what is there already: create
 * is idempotent, a bound sandbox says whose it is, and what was prepared may be prepared again because it serves nobody yet.
 *
 * A template's first sandbox is probed wholly. The others are made as it is, so that a brief look finds what they may lack:
 * in a burst of sixty on one node the helpers of whole probes are a twentieth of all work. Where nothing is prepared, that
 * look is asked for with the first answer, and what leaves no doubt is not asked again.
 */
export type StartStep = 'create' | 'running' | 'answering' | 'prepare' | 'probe';

/** Where a start stands, for whoever must say why it did not end in time. */
export type StartProgress = {
  step: StartStep;
  /** The error that the step is waiting out; `null` when it just takes its time. */
  waitingOut: Error | null;
  /** Hears of each step as it begins. */
  readonly entered: (step: StartStep) => void;
};

export type StartTools = {
  readonly provider: Pick<SandboxProvider, 'create'>;
  readonly link: Pick<SandboxLink, 'identity' | 'prepare' | 'probe'>;
  readonly presence: Pick<Presence, 'running'>;
  readonly proven: ProvenTemplates;
  readonly clock: Clock;
  readonly tokenSha256Of: (sandbox: SandboxId) => string;
};

/** `taken`: it already works for a rollout, so this start had been finished before. */
export type Started =
  | { readonly kind: 'started'; readonly boot: BootId; readonly address: SandboxAddress }
  | { readonly kind: 'taken' };

/**
 * Between two tries of a step that may succeed on its own. A sandboxd is up within some 150 ms of its start, and within
 * seconds where a burst starts sixty of them on one node, whose cores then have better to do than to refuse connections.
 */
export const identityPauseMs = (tried: number) => Math.min(25 * 1.5 ** tried, 250);
/** An engine that says "ask again" is busy, full or away: a burst's hundreds of starts must not keep it so. */
const createPauseMs = (tried: number) => Math.min(500 * 2 ** tried, 4_000);

/**
 * Runs all steps and notes its progress. Throws what the step threw: `classify.ts` gives it its code. The engine may take
 * a start timeout to accept it, and from then on the start has its own: an engine that was away for a while must not look
 * like a template that cannot start.
 */
export async function startSandbox(
  tools: StartTools,
  sandbox: SandboxId,
  template: Template,
  progress: StartProgress,
  signal: AbortSignal,
): Promise<Started> {
  const within = <Result>(work: (inTime: AbortSignal) => Promise<Result>) =>
    withDeadline(tools.clock, template.startTimeoutMs, signal, work);
  await within((inTime) => create(tools, sandbox, template, progress, inTime));
  return within((inTime) => becomeReady(tools, sandbox, template, progress, inTime));
}

async function create(
  tools: StartTools,
  sandbox: SandboxId,
  template: Template,
  progress: StartProgress,
  signal: AbortSignal,
): Promise<void> {
  enter(progress, 'create');
  const request = { sandbox, template, tokenSha256: tools.tokenSha256Of(sandbox) };
  await retrying(() => tools.provider.create(request), asksLater, createPauseMs, tools, progress, signal);
}

async function becomeReady(
  tools: StartTools,
  sandbox: SandboxId,
  template: Template,
  progress: StartProgress,
  signal: AbortSignal,
): Promise<Started> {
  enter(progress, 'running');
  const address = await tools.presence.running(sandbox, signal);
  enter(progress, 'answering');
  const stranger = { sandbox, address, boot: null };
  const look = template.prepare.length === 0 && isLikeAnother(tools, template) ? 'brief' : undefined;
  const hello = () => tools.link.identity(stranger, signal, look);
  const identity = await retrying(hello, notYetUp, identityPauseMs, tools, progress, signal);
  if (identity.owner !== null) return { kind: 'taken' };
  const boot = bootId(identity.boot);
  const isLookedOver = look !== undefined && identity.probed;
  if (!isLookedOver) await makeReady(tools, { ...stranger, boot }, template, progress, signal);
  return { kind: 'started', boot, address };
}

const isLikeAnother = ({ proven }: StartTools, { digest }: Template) => proven.has(digest);

async function makeReady(
  tools: StartTools,
  target: SandboxTarget,
  template: Template,
  progress: StartProgress,
  signal: AbortSignal,
): Promise<void> {
  const { link, proven } = tools;
  if (template.prepare.length > 0) {
    enter(progress, 'prepare');
    await link.prepare(target, template.prepare, template.startTimeoutMs, signal);
  }
  enter(progress, 'probe');
  await link.probe(target, isLikeAnother(tools, template) ? 'brief' : 'whole', signal);
  proven.add(template.digest);
}

function enter(progress: StartProgress, step: StartStep): void {
  progress.step = step;
  progress.waitingOut = null;
  progress.entered(step);
}

// A neighbour's end makes room in a full engine, as it does in the pool.
const asksLater = (thrown: unknown): thrown is Failure =>
  thrown instanceof Failure && (thrown.code === 'provider_unavailable' || thrown.code === 'unschedulable');

// An identity changes nothing, so it may be asked again whatever became of the question.
const notYetUp = (thrown: unknown): thrown is LinkError =>
  thrown instanceof LinkError && (thrown.trouble.kind === 'not_sent' || thrown.trouble.kind === 'maybe_sent');

/** Tries until it works, fails for another reason, or the signal aborts. */
async function retrying<Result>(
  attempt: () => Promise<Result>,
  mayRetry: (thrown: unknown) => thrown is Error,
  pauseMs: (tried: number) => number,
  { clock }: StartTools,
  progress: StartProgress,
  signal: AbortSignal,
): Promise<Result> {
  for (let tried = 0; ; tried += 1) {
    try {
      return await attempt();
    } catch (thrown) {
      if (signal.aborted || !mayRetry(thrown)) throw thrown;
      progress.waitingOut = thrown;
      await clock.sleep(pauseMs(tried), signal);
      signal.throwIfAborted();
    }
  }
}
