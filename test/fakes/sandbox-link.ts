import { EventEmitter } from 'node:events';
import { WireError } from '#services/sandboxd/wire-error.ts';
import type { SandboxId } from '#src/model/ids.ts';
import {
  LinkError,
  type LinkTrouble,
  type SandboxLink,
  type SandboxTarget,
  type FileIn,
  type FileOut,
  type StdinIn,
} from '#src/ports/sandbox-link.ts';
import type {
  ArtifactsRequest,
  BindReply,
  Lacks,
  BindRequest,
  CallAnswer,
  CallRequest,
  FileReply,
  Identity,
  ListingRequest,
  ScreenReply,
  StreamLine,
  StreamOffsets,
  UserIsolation,
} from '#src/protocol/sandboxd/wire.ts';
import { tarOf } from '#src/grading/artifacts.ts';
import { answering, SandboxLife } from './sandbox-life.ts';

export { answering } from './sandbox-life.ts';

/** What the fake's "command" does; the default prints its last argument. */
export type Behaviour = (request: CallRequest) => CallAnswer | Promise<CallAnswer>;

/**
 * Sandboxes in memory behind the port, with sandboxd's own binding and journal (the contract suite runs over it).
 * Counts what ran; can be told the next trouble of a method, and sandboxes can be killed or cut off.
 */
export class FakeSandboxLink implements SandboxLink {
  readonly ran: string[] = [];
  /** Calls that have reached a sandbox, and until when each may start, on this process's clock. */
  readonly received = new Map<string, number>();
  readonly binds: string[] = [];
  /** Programs that no sandbox has. */
  readonly missing = new Set<string>();
  /** What of a task's needs is not met: in every sandbox, or by its id. */
  lacks: Lacks | null | ((sandbox: SandboxId) => Lacks | null) = null;
  /** Of all sandboxes. */
  isolation: UserIsolation = 'two-user';
  /** Calls that a sandbox has heard to be settled, in order. */
  readonly told: string[] = [];
  readonly #hearing: Parameters<SandboxLink['onUnsettled']>[0][] = [];
  /** The listing that a sandbox sends for this turn, null where no policy was. By default, both are as their image. */
  listing: (turn: number | null) => readonly unknown[] = () => [['homes', []], ['end']];
  behaviour: Behaviour = (request) => answering({ stdout: lastArgument(request) });
  readonly #lives = new Map<string, SandboxLife>();
  readonly #refusing = new Set<SandboxId>();
  readonly #cuts = new EventEmitter().setMaxListeners(0);
  readonly #troubles: { readonly method: keyof SandboxLink; readonly trouble: LinkTrouble }[] = [];

  /** As adapters are: an object of functions, which may be spread. */
  asPort(): SandboxLink {
    return {
      identity: (target, signal, look) => this.identity(target, signal, look),
      prepare: (target) => this.prepare(target),
      probe: (target) => this.probe(target),
      bind: (target, request) => this.bind(target, request),
      call: (target, call, request, waitMs, signal) => this.call(target, call, request, waitMs, signal),
      attach: (target, call, waitMs, signal) => this.attach(target, call, waitMs, signal),
      settled: (target, calls) => this.settled(target, calls),
      onUnsettled: (hear) => this.onUnsettled(hear),
      cancel: (target, call) => this.cancel(target, call),
      output: (target) => this.output(target),
      stream: (target, call, from, signal) => this.stream(target, call, from, signal),
      stdin: (target, call, piece, signal) => this.stdin(target, call, piece, signal),
      screen: (target) => this.screen(target),
      putFile: (target, to, body) => this.putFile(target, to, body),
      getFile: (target, from) => this.getFile(target, from),
      takeArtifacts: (target, request) => this.takeArtifacts(target, request),
      list: (target, request) => this.list(target, request),
      contents: (target) => this.contents(target),
      putChanges: (target) => this.putChanges(target),
    };
  }

  /** Another life, if the sandbox has one already. */
  start(sandbox: SandboxId, boot: string, { probed = true } = {}): void {
    this.kill(sandbox);
    const run = async (call: string, request: CallRequest) => {
      this.ran.push(call);
      return this.behaviour(request);
    };
    this.#lives.set(sandbox, new SandboxLife(sandbox, boot, probed, run));
  }

  kill(sandbox: SandboxId): void {
    this.#lives.delete(sandbox);
    this.cut(sandbox);
  }

  /** Breaks every connection to it that waits for a call's answer; what runs goes on. */
  cut(sandbox: SandboxId): void {
    this.#cuts.emit(sandbox);
  }

  /** Takes no connection, and those that are there break, until it accepts again; what runs in it goes on. */
  refuse(sandbox: SandboxId): void {
    this.#refusing.add(sandbox);
    this.cut(sandbox);
  }

  accept(sandbox: SandboxId): void {
    this.#refusing.delete(sandbox);
  }

  failNext(method: keyof SandboxLink, trouble: LinkTrouble): void {
    this.#troubles.push({ method, trouble });
  }

  identity(target: SandboxTarget, _signal?: AbortSignal, look?: 'brief'): Promise<Identity> {
    return this.#ask('identity', target, (life) => {
      if (look !== undefined && life.identity().owner === null) life.probe();
      return this.#identityOf(life);
    });
  }

  prepare(target: SandboxTarget) {
    return this.#ask('prepare', target, (life) => life.prepare());
  }

  probe(target: SandboxTarget) {
    return this.#ask('probe', target, (life) => life.probe());
  }

  bind(target: SandboxTarget, request: BindRequest): Promise<BindReply> {
    return this.#ask('bind', target, (life) => {
      if (life.bind(request)) this.binds.push(target.sandbox);
      const missing = (request.programs ?? []).filter((program) => this.missing.has(program));
      const lacks = typeof this.lacks === 'function' ? this.lacks(target.sandbox) : this.lacks;
      return { ...this.#identityOf(life), missing, ...(request.needs && lacks && { lacks }) };
    });
  }

  call(target: SandboxTarget, call: string, request: CallRequest, waitMs: number, signal: AbortSignal) {
    return this.#held('call', target, signal, async (life, gone) => {
      this.received.set(call, performance.now() + (request.startWithinMs ?? Number.POSITIVE_INFINITY));
      return life.call(call, request, waitMs, gone);
    });
  }

  attach(target: SandboxTarget, call: string, waitMs: number, signal: AbortSignal) {
    return this.#held('attach', target, signal, async (life, gone) => life.attach(call, waitMs, gone));
  }

  /** At once; a real one hears of it with the next request. */
  settled({ sandbox }: SandboxTarget, calls: readonly string[]): void {
    this.told.push(...calls);
    this.#lives.get(sandbox)?.settle(calls);
  }

  onUnsettled(hear: Parameters<SandboxLink['onUnsettled']>[0]): void {
    this.#hearing.push(hear);
  }

  /** As if one of its answers had named these calls. */
  asks(target: SandboxTarget, calls: readonly string[]): void {
    for (const hear of this.#hearing) hear(target, calls);
  }

  cancel(target: SandboxTarget, call: string): Promise<void> {
    return this.#ask('cancel', target, (life) => life.cancel(call));
  }

  stream(target: SandboxTarget, call: string, from: StreamOffsets, signal: AbortSignal) {
    return this.#ask('stream', target, (life) => this.#breaking(target, life.stream(call, from), signal));
  }

  #identityOf(life: SandboxLife): Identity {
    return { ...life.identity(), isolation: this.isolation };
  }

  /** Breaks where its connection is cut. */
  async *#breaking(
    target: SandboxTarget,
    lines: AsyncIterable<StreamLine>,
    signal: AbortSignal,
  ): AsyncGenerator<StreamLine> {
    const broken = Promise.withResolvers<never>();
    broken.promise.catch(() => undefined);
    const breakOff = () => broken.reject(new LinkError({ kind: 'maybe_sent', detail: 'connection reset' }));
    this.#cuts.once(target.sandbox, breakOff);
    signal.addEventListener('abort', breakOff, { once: true });
    const reading = lines[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { done, value } = await Promise.race([reading.next(), broken.promise]);
        if (done === true) return;
        yield value;
      }
    } finally {
      this.#cuts.off(target.sandbox, breakOff);
    }
  }

  stdin(target: SandboxTarget, call: string, piece: StdinIn, signal: AbortSignal) {
    return this.#held('stdin', target, signal, (life, gone) => life.stdin(call, piece, gone));
  }

  /** It has no terminals. */
  screen(target: SandboxTarget): Promise<ScreenReply> {
    return this.#ask('screen', target, () => ({ screen: null, reason: 'no terminal is open' }));
  }

  /** What it runs prints little. */
  output(target: SandboxTarget): Promise<AsyncIterable<Uint8Array>> {
    return this.#ask('output', target, () => {
      throw new WireError('answer_confirmed', 'its output had to make way');
    });
  }

  async putFile(target: SandboxTarget, to: FileIn, body: AsyncIterable<Uint8Array>) {
    const bytes = Buffer.concat(await Array.fromAsync(body));
    return this.#ask('putFile', target, (life) => life.put(to, bytes));
  }

  getFile(target: SandboxTarget, { path }: FileOut): Promise<AsyncIterable<Uint8Array>> {
    return this.#ask('getFile', target, (life) => chunksOf(life.get(path)));
  }

  list(target: SandboxTarget, { turn }: ListingRequest): Promise<AsyncIterable<Uint8Array>> {
    const text = () =>
      this.listing(turn)
        .map((line) => `${JSON.stringify(line)}\n`)
        .join('');
    return this.#ask('list', target, () => chunksOf(Buffer.from(text())));
  }

  contents(target: SandboxTarget): Promise<AsyncIterable<Uint8Array>> {
    return this.#ask('contents', target, () => tarOf([]));
  }

  putChanges(target: SandboxTarget): Promise<FileReply> {
    return this.#ask('putChanges', target, () => ({ bytes: 0, entries: 0 }));
  }

  takeArtifacts(target: SandboxTarget, { paths }: ArtifactsRequest): Promise<AsyncIterable<Uint8Array>> {
    return this.#ask('takeArtifacts', target, (life) => tarOf(life.take(paths)));
  }

  async #ask<Answer>(
    method: keyof SandboxLink,
    target: SandboxTarget,
    serve: (life: SandboxLife) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    try {
      return await serve(this.#life(method, target));
    } catch (thrown) {
      throw thrown instanceof WireError ? refusal(thrown) : thrown;
    }
  }

  /** A request that waits for its answer: it breaks when the asker gives up, the sandbox ends, or it is cut off. */
  async #held<Answer>(
    method: keyof SandboxLink,
    target: SandboxTarget,
    signal: AbortSignal,
    serve: (life: SandboxLife, gone: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> {
    const gone = new AbortController();
    const broken = Promise.withResolvers<never>();
    const breakOff = (detail: string) => () => broken.reject(new LinkError({ kind: 'maybe_sent', detail }));
    const [aborted, reset] = [breakOff('aborted'), breakOff('connection reset')];
    if (signal.aborted) aborted();
    signal.addEventListener('abort', aborted, { once: true });
    this.#cuts.once(target.sandbox, reset);
    try {
      return await Promise.race([
        this.#ask(method, target, (life) => serve(life, gone.signal)),
        broken.promise,
      ]);
    } finally {
      gone.abort();
      signal.removeEventListener('abort', aborted);
      this.#cuts.off(target.sandbox, reset);
    }
  }

  #life(method: keyof SandboxLink, target: SandboxTarget): SandboxLife {
    const at = this.#troubles.findIndex((planned) => planned.method === method);
    const [planned] = at === -1 ? [] : this.#troubles.splice(at, 1);
    if (planned !== undefined) throw new LinkError(planned.trouble);
    const life = this.#lives.get(target.sandbox);
    if (life === undefined || this.#refusing.has(target.sandbox))
      throw new LinkError({ kind: 'not_sent', detail: 'connection refused' });
    if (target.boot !== null && target.boot !== life.boot) {
      throw new LinkError({ kind: 'other_boot', boot: life.boot });
    }
    if (target.owner !== undefined && forOneRollout.has(method)) checkOwner(life, target.owner);
    return life;
  }
}

const forOneRollout: ReadonlySet<keyof SandboxLink> = new Set([
  'call',
  'attach',
  'takeArtifacts',
  'list',
  'contents',
  'putChanges',
  'cancel',
  'output',
  'stream',
  'stdin',
  'screen',
  'putFile',
  'getFile',
]);

function checkOwner(life: SandboxLife, owner: string): void {
  try {
    life.requireOwner(owner);
  } catch (thrown) {
    throw thrown instanceof WireError ? refusal(thrown) : thrown;
  }
}

function lastArgument({ action }: CallRequest): string {
  if (action.kind === 'query') return JSON.stringify(action.values);
  return action.kind === 'builtin' ? JSON.stringify(action.arguments) : (action.argv.at(-1) ?? '');
}

async function* chunksOf(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

function refusal({ status, code, message, errno }: WireError): LinkError {
  return new LinkError({ kind: 'refused', status, code, message, ...(errno !== undefined && { errno }) });
}
