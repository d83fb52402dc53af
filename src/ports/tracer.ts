import type { Blame } from '../failure/codes.ts';

export type SpanKind = 'server' | 'client' | 'consumer' | 'internal';

/**
 * All spans there are, and what each is. Nobody names one at run time: what a caller, a model or a sandbox says can be
 * neither a span's name nor the name of an attribute.
 */
export const spanKinds = {
  /** From the first call to the verdict; whoever tells the verdict writes it. */
  rollout: 'internal',
  tool_call: 'server',
  /** A repeat that waits for a call whose answer was lost. */
  attach: 'server',
  grade: 'server',
  /** Before a claim: until it is known what is to run, in which version of which environment. */
  plan: 'internal',
  /** From the claim to the grant, the wait in line included. */
  obtain_sandbox: 'internal',
  bind: 'client',
  setup: 'client',
  /** One request to sandboxd about a call or a grader; what takes longer than it may be held is asked about again. */
  exchange: 'client',
  /** What ran inside, by the sandbox's own clock. */
  command: 'internal',
  judge: 'client',
  /** A script in Redis that was slow or failed; the others are too many and too quick to be worth a span. */
  fleet_state: 'client',
  lose: 'internal',
  launch: 'internal',
  create: 'internal',
  start: 'internal',
  prepare: 'internal',
  probe: 'internal',
  /** A launch in its queue, from its reservation until a worker had it. */
  queued: 'consumer',
  recover: 'internal',
} as const satisfies Record<string, SpanKind>;

export type SpanName = keyof typeof spanKinds;

/** Which span of which trace, hex of 32 and 16 characters. `sampled` absent: the trace's id decides, alike everywhere. */
export type SpanContext = { readonly traceId: string; readonly spanId: string; readonly sampled?: boolean };

/**
 * All that a span may say, each after `corral.`: ids, codes and counts; never a text of the model, arguments, output or
 * secrets. Long values are cut.
 */
export const spanAttributes = {
  tenant: 'of the API key',
  run: 'the training job; of a launch `tenant/run`, whose turn it was',
  rollout: "the trainer's id, `trace_id` on the RFT face",
  attempt: 'of the rollout',
  call: "the trainer's id of the call",
  face: '`rft`, `native` or `e2b`',
  environment: 'its name',
  version: '12 digits of it',
  tool: 'one that the environment has, or `exec`',
  sandbox: 'its id',
  template: '12 digits of its digest',
  reason: 'what a launch is for: `waiting`, `announced` or `refill`',
  launch: 'how the sandbox came: `warm` (it was ready) or `cold` (it was launched for a waiting rollout)',
  ahead: 'rollouts ahead of it when it joined the line',
  outcome: 'of the call; `still_running` if the request ended first',
  ending: 'of a command, as its sandbox reports it',
  replayed: 'the answer existed already',
  judged: '`scored` or `refused`',
  verdict: '`scorable` or `discard`',
  closed_by: 'of a rollout that ended without a verdict',
  code: 'why it failed, docs/failures.md',
  blame: 'who caused it: `infrastructure`, `caller` or `model`',
  suspected: 'the policy may have caused it',
  cause: 'of a loss',
  effect: 'of a loss: `swapped`, `tainted` or `broken`',
  trouble: 'why a request to sandboxd, or a step, failed; the span above says who caused it',
  script: 'of fleet state, in Redis',
  sandboxes: 'how many were found again after Redis was replaced',
} as const;

export type Attributes = Readonly<
  Partial<Record<`corral.${keyof typeof spanAttributes}`, string | number | boolean>>
>;

export type SpanStart = {
  /** Of another process, too. Neither `parent` nor `self`: the root of a trace of its own. */
  readonly parent?: SpanContext;
  /** The root of a trace whose ids anybody can derive. */
  readonly self?: SpanContext;
  readonly links?: readonly SpanContext[];
  readonly attributes?: Attributes;
  /** On the tracer's clock; default now. */
  readonly startMs?: number;
};

/** Nothing here ever throws, waits, or makes the work that it tells of fail. */
export interface Span {
  readonly context: SpanContext;
  set(attributes: Attributes): void;
  link(to: SpanContext): void;
  /** It failed, by this code; `corral.code` and `corral.blame` say so. */
  fail(code: string, blame: Blame): void;
  /** It did not work out, and whose doing that is will be said elsewhere. */
  broke(how: string): void;
  end(atMs?: number): void;
}

/** Writes spans. One that is off costs nothing, and wrappers that only tell spans leave what they wrap as it is. */
export interface Tracer {
  readonly on: boolean;
  /** The wall clock in milliseconds, finer than one. */
  nowMs(): number;
  start(name: SpanName, start?: SpanStart): Span;
  /** Sends what is left, for two seconds at most. */
  close(): Promise<void>;
}

const nowhere: SpanContext = { traceId: '0'.repeat(32), spanId: '0'.repeat(16), sampled: false };

const noSpan: Span = {
  context: nowhere,
  set: () => undefined,
  link: () => undefined,
  fail: () => undefined,
  broke: () => undefined,
  end: () => undefined,
};

export const noTracer: Tracer = {
  on: false,
  nowMs: () => 0,
  start: () => noSpan,
  close: () => Promise.resolve(),
};
