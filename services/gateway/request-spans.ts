import type { Failure } from '#src/failure/failure.ts';
import { failures } from '#src/failure/codes.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import type { ClaimReply } from '#src/ports/fleet/claims.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import {
  type Attributes,
  noTracer,
  type Span,
  type SpanContext,
  type SpanName,
  type SpanStart,
  type Tracer,
} from '#src/ports/tracer.ts';
import { launchRoot, rolloutRoot } from '#src/tracing/names.ts';

/** A request that is held for minutes may try again hundreds of times: what came first tells why. */
const mostSpans = 64;

export type Part = {
  readonly name: SpanName;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes?: Attributes;
  readonly failure?: Failure;
};

/**
 * The spans of one request in hand. Its own begins where the request did, but is made only when its rollout is known, for
 * that says which trace it is of: the caller's own if it named one, with a link to the rollout's; else the rollout's.
 */
export class RequestSpans {
  readonly startMs: number;
  readonly #tracer: Tracer;
  readonly #name: SpanName;
  readonly #callers: SpanContext | undefined;
  readonly #attributes: Attributes;
  #own: Span | null = null;
  #isPlanned = false;
  /** Parts that were over before the request's own span was made. */
  #early: Part[] = [];
  #made = 0;
  /** The wait in line that is going on. */
  #line: Span | null = null;
  /** Which grant was told of, or was there before. */
  #generation = -1;

  constructor(tracer: Tracer, name: SpanName, callers: SpanContext | undefined, attributes: Attributes) {
    this.startMs = tracer.nowMs();
    this.#tracer = tracer;
    this.#name = name;
    this.#callers = callers;
    this.#attributes = attributes;
  }

  nowMs(): number {
    return this.#tracer.nowMs();
  }

  /** The request's own span. */
  of(key: RolloutKey): Span {
    return this.#own ?? this.#begin(rolloutRoot(key));
  }

  /** A part of it; its parent is the request's own span, unless another is given. */
  start(name: SpanName, given: SpanStart = {}): Span {
    this.#made += 1;
    if (this.#made > mostSpans) return noTracer.start(name);
    return this.#tracer.start(name, { parent: this.#ownOrLost().context, ...given });
  }

  /** A part that is over, of a request whose rollout need not be known yet. */
  tell(part: Part): void {
    if (this.#own !== null) this.#write(part);
    else if (this.#early.length < mostSpans) this.#early.push(part);
  }

  /** What is to run is known, and a sandbox is claimed for it; later calls have nothing to find out that takes time. */
  planned(key: RolloutKey): void {
    this.of(key);
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.tell({ name: 'plan', startMs: this.startMs, endMs: this.nowMs() });
  }

  /** Where a claim that was sent at `sinceMs` says that the rollout stands. */
  stands(reply: ClaimReply, sinceMs: number): void {
    switch (reply.kind) {
      case 'waiting':
        this.#line ??= this.start('obtain_sandbox', {
          startMs: sinceMs,
          attributes: { 'corral.ahead': reply.ahead },
        });
        return;
      case 'refused':
        this.#endLine((line) => line.fail(reply.code, failures[reply.code].blame));
        return;
      case 'held':
        this.#holds(reply.rollout, sinceMs);
    }
  }

  answered(attributes: Attributes): void {
    const own = this.#ownOrLost();
    own.set(attributes);
    own.end();
  }

  /** The request's time may be up while its work goes on: no failure, and a repeat waits on. */
  failed({ code, blame }: Failure): void {
    const own = this.#ownOrLost();
    if (code === 'still_running') own.set({ 'corral.outcome': code });
    else own.fail(code, blame);
    this.#endLine((line) => (code === 'still_running' ? undefined : line.fail(code, blame)));
    own.end();
  }

  #holds(rollout: RolloutRecord, sinceMs: number): void {
    const { generation, epoch, launchType, state } = rollout;
    const isNew = state === 'claimed' && generation !== this.#generation;
    this.#generation = generation;
    if (this.#line === null && !isNew) return;
    this.#line ??= this.start('obtain_sandbox', { startMs: sinceMs });
    this.#endLine((line) => {
      if (epoch === null) return;
      line.set({ 'corral.sandbox': epoch.sandbox, 'corral.launch': launchType ?? 'unknown' });
      line.link(launchRoot(epoch.sandbox));
    });
  }

  #endLine(last: (line: Span) => void): void {
    if (this.#line === null) return;
    last(this.#line);
    this.#line.end();
    this.#line = null;
  }

  #begin(root: SpanContext): Span {
    const callers = this.#callers;
    const links = callers === undefined ? [] : [root];
    return this.#make({ parent: callers ?? root, links });
  }

  /** What failed before its rollout was known is of the caller's trace, or alone in one. */
  #ownOrLost(): Span {
    return this.#own ?? this.#make(this.#callers === undefined ? {} : { parent: this.#callers });
  }

  #make(where: SpanStart): Span {
    const own = { ...where, startMs: this.startMs, attributes: this.#attributes };
    this.#own = this.#tracer.start(this.#name, own);
    for (const part of this.#early) this.#write(part);
    this.#early = [];
    return this.#own;
  }

  #write({ name, startMs, endMs, attributes = {}, failure }: Part): void {
    const span = this.start(name, { startMs, attributes });
    if (failure !== undefined) span.fail(failure.code, failure.blame);
    span.end(endMs);
  }
}
