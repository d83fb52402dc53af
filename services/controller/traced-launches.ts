import { failures } from '#src/failure/codes.ts';
import type { HandleTicket, LaunchEnd, Ticket } from '#src/ports/launch-queue.ts';
import type { LaunchReservation } from '#src/ports/fleet/pool.ts';
import type { Attributes, Span, SpanName, Tracer } from '#src/ports/tracer.ts';
import { launchRoot, rolloutRoot, ticketRoot } from '#src/tracing/names.ts';

/**
 * Launches as spans, told from what a launch tells its ticket. Each has a trace of its own, by its sandbox: whose it becomes
 * is decided when it is ready, so no rollout is its parent, nor is the ticket, which was blank; they are linked.
 */
export function tracedLaunches(tracer: Tracer, handle: HandleTicket): HandleTicket {
  if (!tracer.on) return handle;
  return async (ticket, signal) => {
    const spans = new LaunchSpans(tracer, ticket);
    const told: Ticket = {
      ...ticket,
      reserved: (launch) => {
        spans.reserved(launch);
        ticket.reserved(launch);
      },
      stands: (step) => {
        spans.stands(step);
        ticket.stands(step);
      },
    };
    try {
      const end = await handle(told, signal);
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
  readonly #ticket: Ticket;
  readonly #startMs: number;
  #launch: LaunchReservation | null = null;
  #reservedMs = 0;
  #step: { readonly name: SpanName; readonly span: Span } | null = null;

  constructor(tracer: Tracer, ticket: Ticket) {
    this.#tracer = tracer;
    this.#ticket = ticket;
    this.#startMs = tracer.nowMs();
  }

  reserved(launch: LaunchReservation): void {
    this.#launch = launch;
    this.#reservedMs = this.#tracer.nowMs();
  }

  stands(step: string): void {
    const name = stepSpans[step];
    if (this.#launch === null || name === undefined || name === this.#step?.name) return;
    this.#endStep();
    this.#step = { name, span: this.#tracer.start(name, { parent: launchRoot(this.#launch.sandbox) }) };
  }

  ended(end: LaunchEnd): void {
    if (this.#launch === null || end.kind === 'nothing') return this.handedOn();
    const { sandbox, template, reason, run } = this.#launch;
    const attributes: Attributes = {
      'corral.sandbox': sandbox,
      'corral.template': template.slice(0, shownDigits),
      'corral.reason': reason,
      'corral.ticket': this.#ticket.name,
      ...(run !== null && { 'corral.run': run }),
    };
    const span = this.#tracer.start('launch', {
      self: launchRoot(sandbox),
      links: [ticketRoot(this.#ticket.name)],
      startMs: this.#startMs,
      attributes,
    });
    if (end.kind === 'ready' && end.rollout !== null) span.link(rolloutRoot(end.rollout));
    this.#endStep(end);
    if (end.kind === 'failed') span.fail(end.code, failures[end.code].blame);
    span.end();
    this.#tellTicket(this.#launch);
  }

  /** Another worker gets the ticket, and goes on with the same sandbox: the launch is told by whoever ends it. */
  handedOn(): void {
    this.#step?.span.broke('handed_on');
    this.#endStep();
  }

  #endStep(end?: LaunchEnd): void {
    if (end?.kind === 'failed') this.#step?.span.fail(end.code, failures[end.code].blame);
    this.#step?.span.end();
    this.#step = null;
  }

  /** How long it lay in the queue, and waited there for a start slot. */
  #tellTicket({ sandbox }: LaunchReservation): void {
    const { name, offeredAtMs } = this.#ticket;
    const attributes = { 'corral.ticket': name };
    const [self, links] = [ticketRoot(name), [launchRoot(sandbox)]];
    this.#tracer.start('ticket', { self, links, startMs: offeredAtMs, attributes }).end(this.#reservedMs);
  }
}
