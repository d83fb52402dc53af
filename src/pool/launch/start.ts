import { type BootId, bootId, type SandboxId, type TemplateDigest } from '#src/model/ids.ts';
import { failsEverywhere } from '#src/failure/codes.ts';
import { Failure } from '#src/failure/failure.ts';
import type { SandboxAddress } from '#src/model/rollout.ts';
import type { Template } from '#src/model/environment.ts';
import { type RetryDeps, retrying } from '#src/waiting/retries.ts';
import { retryPolicies, type RetryPolicy } from '#src/waiting/retry-policies.ts';
import type { SandboxLink, SandboxTarget } from '#src/ports/sandbox-link.ts';
import type { SandboxProvider } from '#src/ports/sandbox-provider.ts';
import type { SandboxAccount } from '../sandbox-account.ts';
import { withDeadline } from './deadline.ts';
import { checkData, hasImageData } from './data-there.ts';

/**
 * Starting one sandbox, step by step:
 *
 *   create → running → answering → prepare → probe → started
 *
 * Where an image was to bring data along, the first thing prepared is a look whether it did.
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

export type StartTools = RetryDeps & {
  readonly provider: Pick<SandboxProvider, 'create'>;
  readonly link: Pick<SandboxLink, 'identity' | 'prepare' | 'probe'>;
  readonly account: Pick<SandboxAccount, 'running'>;
  readonly proven: ProvenTemplates;
  readonly tokenSha256Of: (sandbox: SandboxId) => string;
};

/** `taken`: it already works for a rollout, so this start had been finished before. */
export type Started =
  | { readonly kind: 'started'; readonly boot: BootId; readonly address: SandboxAddress }
  | { readonly kind: 'taken' };

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
  const attempt = () => tools.provider.create(request);
  await untilDone(tools, retryPolicies.creation, attempt, progress, signal);
}

async function becomeReady(
  tools: StartTools,
  sandbox: SandboxId,
  template: Template,
  progress: StartProgress,
  signal: AbortSignal,
): Promise<Started> {
  enter(progress, 'running');
  const address = await tools.account.running(sandbox, signal);
  enter(progress, 'answering');
  const stranger = { sandbox, address, boot: null };
  const look = !isPrepared(template) && isLikeAnother(tools, template) ? 'brief' : undefined;
  const hello = () => tools.link.identity(stranger, signal, look);
  const identity = await untilDone(tools, retryPolicies.firstAnswer, hello, progress, signal);
  if (identity.owner !== null) return { kind: 'taken' };
  if (identity.keepsStdin !== true) throw tooOld();
  const boot = bootId(identity.boot);
  const isLookedOver = look !== undefined && identity.probed;
  if (!isLookedOver) await makeReady(tools, { ...stranger, boot }, template, progress, signal);
  return { kind: 'started', boot, address };
}

/** Of an image that has sandboxd of a release that is no longer supported. It keeps answers until a gateway confirms them, and none does. */
const tooOld = (): Failure =>
  new Failure(
    'start_failed',
    'its sandboxd is of a release before the previous one: build the image again with the sandboxd of this release',
    { evidence: failsEverywhere },
  );

const isPrepared = (template: Template) => template.prepare.length > 0 || hasImageData(template);

const isLikeAnother = ({ proven }: StartTools, { digest }: Template) => proven.has(digest);

async function makeReady(
  tools: StartTools,
  target: SandboxTarget,
  template: Template,
  progress: StartProgress,
  signal: AbortSignal,
): Promise<void> {
  const { link, proven } = tools;
  if (isPrepared(template)) enter(progress, 'prepare');
  await checkData(link, target, template, signal);
  if (template.prepare.length > 0) {
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

/** Tries until it works, fails for another reason, or the signal aborts. */
function untilDone<Result>(
  tools: StartTools,
  policy: RetryPolicy,
  step: () => Promise<Result>,
  progress: StartProgress,
  signal: AbortSignal,
): Promise<Result> {
  const attempt = async () => {
    signal.throwIfAborted();
    return step();
  };
  const onAgain = (thrown: unknown) => {
    progress.waitingOut = thrown instanceof Error ? thrown : null;
  };
  return retrying(tools, policy, attempt, { hurry: signal, onAgain });
}

/** Templates of which this controller has seen a sandbox pass the whole probe. */
export type ProvenTemplates = {
  has(template: TemplateDigest): boolean;
  add(template: TemplateDigest): void;
};

/** Where every row has an image, templates are many; one that was forgotten is only probed wholly once more. */
const mostRemembered = 10_000;

export function createProvenTemplates(): ProvenTemplates {
  const digests = new Set<TemplateDigest>();
  return {
    has: (template) => digests.has(template),
    add: (template) => {
      if (digests.size >= mostRemembered) digests.clear();
      digests.add(template);
    },
  };
}
