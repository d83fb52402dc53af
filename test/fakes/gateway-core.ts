import type {
  CallResult,
  GatewayCore,
  GradeResult,
  Progress,
  RolloutView,
} from '#services/gateway/core-interface.ts';
import type { Prewarm } from '#src/claiming/prewarm.ts';
import type { Failure } from '#src/failure/failure.ts';
import { callId, environmentName, rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { fakeEnvironment, fakeTemplate } from './environment.ts';
import { fakeRollout } from './rollout-record.ts';
import type { PlaceInLine } from '#src/ports/fleet/claims.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';

export type RecordedCall = { readonly method: keyof GatewayCore; readonly args: readonly unknown[] };

/** A gateway core that records what it is asked and answers what it was told to. */
export class FakeGatewayCore implements GatewayCore {
  readonly calls: RecordedCall[] = [];
  /** Awaited before each answer, so that a test can hold requests. */
  gate: Promise<void> = Promise.resolve();
  /** Thrown by every method until it is taken away. */
  failure: Failure | Error | null = null;
  result: CallResult = aCallResult();
  gradeResult: GradeResult = { score: 0.5, detail: {}, replayed: false };
  created = true;
  /** Of the rollout that is looked at: why it waits. */
  place: PlaceInLine | null = null;
  /** What `getFile` gives; an error among the chunks is thrown there. */
  file: Iterable<Uint8Array | Error> = [];
  /** The policy broke the sandbox: `output` has nothing. */
  isBroken = false;
  /** Whether the last `getFile` was read to its end, or let go. */
  fileLetGo = false;
  /** What `follow` gives; an error among it is thrown there. */
  followed: readonly (Progress | Error)[] = [];
  /** What `putFile` has got. */
  received: Buffer = Buffer.alloc(0);
  /** Bodies of `putFile` that ended before they were whole. */
  brokenOff = 0;

  open: GatewayCore['open'] = (...args) =>
    this.#answer('open', args, { view: aView(), created: this.created });
  prewarm: GatewayCore['prewarm'] = (...args) =>
    this.#answer('prewarm', args, {
      environment: fakeEnvironment(),
      templates: [fakeTemplate().digest],
      count: sum(args[1].rollouts),
      untilMs: args[1].neededAtMs ?? 0,
    });
  toolCall: GatewayCore['toolCall'] = (...args) => this.#answer('toolCall', args, this.result);
  exec: GatewayCore['exec'] = (...args) => this.#answer('exec', args, this.result);
  begin: GatewayCore['begin'] = (...args) => this.#answer('begin', args, undefined);
  follow: GatewayCore['follow'] = async (...args) => {
    await this.#answer('follow', args, undefined);
    return this.#progress();
  };
  giveStdin: GatewayCore['giveStdin'] = (caller, rollout, call, piece, waitMs) => {
    const received = piece.offset + piece.bytes.length;
    return this.#answer('giveStdin', [caller, rollout, call, piece, waitMs], { received, open: true });
  };
  attach: GatewayCore['attach'] = (...args) => this.#answer('attach', args, this.result);
  screen: GatewayCore['screen'] = (...args) =>
    this.#answer('screen', args, { screen: '[terminal 1: running]\n', reason: null });
  output: GatewayCore['output'] = async (...args) => {
    await this.#answer('output', args, undefined);
    return this.isBroken ? null : this.#chunks();
  };
  cancel: GatewayCore['cancel'] = (...args) => this.#answer('cancel', args, { began: false, waiting: true });
  grade: GatewayCore['grade'] = (...args) => this.#answer('grade', args, this.gradeResult);
  view: GatewayCore['view'] = (...args) =>
    this.#answer('view', args, { ...aView(), ...(this.place === null ? {} : { place: this.place }) });
  heartbeat: GatewayCore['heartbeat'] = (...args) => this.#answer('heartbeat', args, aView());
  finish: GatewayCore['finish'] = (...args) => this.#answer('finish', args, aView());
  refuse: GatewayCore['refuse'] = (...args) => this.#answer('refuse', args, aView());
  void: GatewayCore['void'] = (...args) => this.#answer('void', args, aView());
  askControl: GatewayCore['askControl'] = (...args) => this.#answer('askControl', args, { standing: 'play' });
  concludeControl: GatewayCore['concludeControl'] = (...args) =>
    this.#answer('concludeControl', args, args[2] ?? { standing: 'wait' });
  close: GatewayCore['close'] = (...args) => this.#answer('close', args, aView());
  environments: GatewayCore['environments'] = () => [];

  putFile: GatewayCore['putFile'] = async (caller, rollout, to, body, setup) => {
    const chunks: Uint8Array[] = [];
    try {
      for await (const chunk of body) chunks.push(chunk);
    } catch (thrown) {
      this.brokenOff += 1;
      throw thrown;
    }
    this.received = Buffer.concat(chunks);
    return this.#answer('putFile', [caller, rollout, to, setup], { bytes: this.received.length, entries: 1 });
  };

  getFile: GatewayCore['getFile'] = async (...args) => {
    await this.#answer('getFile', args, undefined);
    return this.#chunks();
  };

  environment: GatewayCore['environment'] = (ref) => {
    this.calls.push({ method: 'environment', args: [ref] });
    return Promise.reject(this.failure ?? new Error('the fake has no environment'));
  };

  async *#progress(): AsyncGenerator<Progress> {
    for (const each of this.followed) {
      if (each instanceof Error) throw each;
      yield await Promise.resolve(each);
    }
  }

  async *#chunks(): AsyncGenerator<Uint8Array> {
    this.fileLetGo = false;
    try {
      for (const chunk of this.file) {
        if (chunk instanceof Error) throw chunk;
        yield await Promise.resolve(chunk);
      }
    } finally {
      this.fileLetGo = true;
    }
  }

  async #answer<Value>(method: keyof GatewayCore, args: readonly unknown[], value: Value): Promise<Value> {
    this.calls.push({ method, args });
    await this.gate;
    if (this.failure !== null) throw this.failure;
    return value;
  }
}

export function aCallResult(changes: Partial<CallResult> = {}): CallResult {
  return {
    callId: callId('call_1'),
    outcome: 'completed',
    code: null,
    exitCode: 0,
    signal: null,
    output: 'hello\n',
    stdout: 'hello\n',
    stderr: '',
    truncated: { stdout: false, stderr: false, totalBytes: 6 },
    timedOut: false,
    outOfMemoryKilled: false,
    durationMs: 3,
    waitedMs: 1,
    epoch: null,
    replayed: false,
    ...changes,
  };
}

export function aView(changes: Partial<RolloutRecord> = {}): RolloutView {
  return { record: aRecord(changes), verdict: { kind: 'scorable' }, calls: [], ahead: null };
}

/** A rollout of a trainer on the native face. */
export function aRecord(changes: Partial<RolloutRecord> = {}): RolloutRecord {
  const owner = {
    tenant: tenantId('acme'),
    run: runId('nightly'),
    rollout: rolloutId('trace_1'),
    attempt: 1,
    role: 'policy',
  } as const;
  return fakeRollout({ owner, face: 'native', environment: environmentName('shell'), calls: 1, ...changes });
}

const sum = (rollouts: Prewarm['rollouts']) =>
  typeof rollouts === 'number' ? rollouts : rollouts.reduce((total, { count }) => total + count, 0);
