import { failures } from '#src/failure/codes.ts';
import type { HandleLaunch, LaunchEnd, LaunchJob } from '#src/ports/launch-queue.ts';
import type { Attributes, Span, SpanName, Tracer } from '#src/ports/tracer.ts';
import { launchRoot, rolloutRoot } from '#src/tracing/names.ts';

/**
 * Launches as spans, from what a launch shows in its job. Each has a trace of its own, by its sandbox: whose it becomes
 * is decided when it is ready, so no rollout is its parent; they are linked.
 */
export function tracedLaunches(tracer: Tracer, handle: HandleLaunch): HandleLaunch {
  if (!tracer.on) return handle;
  return async (job, signal) => {
    const spans = new LaunchSpans(tracer, job);
    const stands = (step: string) => {
      spans.stands(step);
      job.stands(step);
    };
    try {
      const end = await handle({ ...job, stands }, signal);
      spans.ended(end);
      return end;
    } catch (thrown) {
      spans.handedOn();
      throw thrown;
    }
  };
}

/** The steps of `pool/launch/start.ts` as spans; the sandbox runs, and then its sandboxd answers, in one. */
const stepSpans: Readonly<Record<string, SpanName>> = {
  create: 'create',
  running: 'start',
  answering: 'start',
  prepare: 'prepare',
  probe: 'probe',
};

/** Of a template's digest, as in metrics and logs. */
const shownDigits = 12;

class LaunchSpans {
  readonly #tracer: Tracer;
  readonly #job: LaunchJob;
  readonly #takenMs: number;
  #step: { readonly name: SpanName; readonly span: Span } | null = null;

  constructor(tracer: Tracer, job: LaunchJob) {
    this.#tracer = tracer;
    this.#job = job;
    this.#takenMs = tracer.nowMs();
  }

  stands(step: string): void {
    const name = stepSpans[step];
    if (name === undefined || name === this.#step?.name) return;
    this.#endStep();
    this.#step = { name, span: this.#tracer.start(name, { parent: this.#root }) };
  }

  ended(end: LaunchEnd): void {
    if (end.kind === 'over') return this.handedOn();
    const { launch, addedAtMs } = this.#job;
    const { sandbox, template, reason, run } = launch;
    const attributes: Attributes = {
      'corral.sandbox': sandbox,
      'corral.template': template.slice(0, shownDigits),
      'corral.reason': reason,
      ...(run !== null && { 'corral.run': run }),
    };
    const span = this.#tracer.start('launch', { self: this.#root, startMs: addedAtMs, attributes });
    if (end.kind === 'ready' && end.rollout !== null) span.link(rolloutRoot(end.rollout));
    this.#endStep(end);
    if (end.kind === 'failed') span.fail(end.code, failures[end.code].blame);
    span.end();
    this.#tracer.start('queued', { parent: this.#root, startMs: addedAtMs }).end(this.#takenMs);
  }

  /** Another worker has, or had, the launch: the one that ends it writes its root. */
  handedOn(): void {
    this.#step?.span.broke('handed_on');
    this.#endStep();
  }

  get #root() {
    return launchRoot(this.#job.launch.sandbox);
  }

  #endStep(end?: LaunchEnd): void {
    if (end?.kind === 'failed') this.#step?.span.fail(end.code, failures[end.code].blame);
    this.#step?.span.end();
    this.#step = null;
  }
}
