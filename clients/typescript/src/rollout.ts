import { randomUUID } from 'node:crypto';
import { Client } from './client.ts';
import {
  CorralError,
  Discarded,
  Misuse,
  ownFailure,
  Refused,
  RequirementsUnmet,
  Unavailable,
} from './errors.ts';
import { type Asked, exchange, type Reply } from './exchange.ts';
import { findReason, neverBegan } from './giving-up.ts';
import { keepAlive, leaseSOf } from './heartbeat.ts';
import { type Held, hold, isHeld, letGo, pathOf, prepareToLeave, queryOf } from './leaving.ts';
import {
  type CallResult,
  type Grade,
  NotCorral,
  type Opened,
  readBinaryCall,
  readCall,
  readGrade,
  readOpened,
  readVerdict,
  type Verdict,
} from './results.ts';
import { type Route, routes } from './routes.ts';
import type { ToolArguments } from './tool-types.ts';
import {
  checkBounds,
  checkCommand,
  checkPath,
  checkSample,
  type Json,
  jsonText,
  readable,
  stdinFields,
} from './writing.ts';

export type RolloutOptions = {
  /** The dataset row. */
  readonly item?: Json;
  /** Which rollouts are compared; default: those of the same item. */
  readonly group?: string;
  readonly step?: number;
  readonly labels?: readonly string[];
  readonly rolloutId?: string;
  readonly attempt?: number;
  /** What the task demands of its sandbox: docs/api.md. */
  readonly requires?: Json;
  readonly client?: Client;
};

export type SetupOption = {
  /**
   * Prepares the sandbox for the policy, before its first call. If the sandbox is lost afterwards and before that call, the fleet runs
   * this again in the next one. Never for what the policy asks for.
   */
  readonly setup?: boolean;
};

export type CallOptions = SetupOption & {
  /** Of the command alone. */
  readonly timeoutS?: number;
  readonly callId?: string;
  /** Aborting stops the command, too. */
  readonly signal?: AbortSignal;
};

export type ExecOptions = CallOptions & {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  readonly user?: 'policy' | 'root';
  /** stderr comes in `stdout`, in the order of writing. */
  readonly merge?: boolean;
  /** The result has `stdoutBytes` and `stderrBytes`. */
  readonly binary?: boolean;
  /** Kept of each stream, 10 MiB at most; default: what the environment keeps. */
  readonly maxOutputBytes?: number;
  /** An adapter's own question to the sandbox. If it is `Misuse`, the rollout can still be graded. */
  readonly probe?: boolean;
};

export type Refusal = { readonly wanted: string; readonly given: string; readonly fix: string };

/** Longer than any rollout lives (2 h) or any command runs (1 h): a bound on work that a gateway says goes on. */
const longestWorkMs = 3 * 3_600_000;
const finishPatienceS = 30;
/** A file may wait ten minutes for its sandbox, and then the gateway says so. */
const fileSilentS = 630;
/** Below what a gateway carries by default (256 MiB): more shows as a broken connection, which is no answer. */
const longestFileBytes = 64 * 1024 * 1024;
/** Of each sentence of a refusal, in characters. */
const longestRefusalText = 2_000;

/**
 * One attempt of the policy at one task, and its sandbox. Nothing is sent before the first use. Call `finish`, or write
 * `await using`; the end of the process deletes what is left.
 *
 * After a call that failed for the infrastructure every later one throws the same, also the grade: code that shows the failure
 * to the model as text, and goes on, must not get a score for it. After a mistake of the job (`Misuse`) calls go on, and there is no
 * score.
 */
export class Rollout<
  Tools extends { readonly [Name in keyof Tools]: object } = ToolArguments,
> implements AsyncDisposable {
  readonly environment: string;
  readonly rolloutId: string;
  readonly attempt: number;
  readonly #held: Held;
  readonly #openBody: Json;
  #opening: Promise<Opened> | null = null;
  #isOpen = false;
  #openTrouble: CorralError | null = null;
  #finishing: Promise<void> | null = null;
  #isOver = false;
  #barred: CorralError | null = null;
  /** A mistake of the job keeps this rollout from a score, and none of its later calls from running. */
  #misused: Misuse | null = null;
  /** Until it is known of every call that was given up whether it had begun, later requests wait. */
  #givenUp: Promise<void> = Promise.resolve();

  constructor(environment: string, options: RolloutOptions = {}) {
    const { client = new Client(), rolloutId = `r-${randomUUID()}`, attempt = 1, ...rest } = options;
    prepareToLeave();
    this.environment = environment;
    this.rolloutId = rolloutId;
    this.attempt = attempt;
    this.#held = { gateway: client.gateway, rolloutId, attempt };
    this.#openBody = { rollout_id: rolloutId, attempt, environment, ...rest };
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Why this rollout has no score, as far as this process knows; null while nothing has failed. */
  get discarded(): CorralError | null {
    return this.#barred ?? this.#misused;
  }

  /** Takes its place in line. Every use does so by itself; call it to be early, or to learn of a wrong key now. */
  async open(): Promise<Opened> {
    this.#check();
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = null;
      throw error;
    });
    const opened = await this.#opening;
    this.#check();
    return opened;
  }

  /** Runs a command in the sandbox: text by `bash -c` (`sh -c` if the image has no bash), or a list of words. */
  async exec(command: string | readonly string[], options: ExecOptions = {}): Promise<CallResult> {
    const { cwd, env = {}, user, merge, binary, maxOutputBytes } = options;
    const words = typeof command === 'string' ? [command] : command;
    const stdin = stdinFields(options.stdin);
    checkCommand(words, [...Object.entries(env).flat(), cwd ?? '', ...Object.values(stdin)]);
    checkBounds(options);
    const what = typeof command === 'string' ? { command } : { argv: command };
    const form = { merge, binary, max_output_bytes: maxOutputBytes };
    const body = { ...what, cwd, env: options.env, ...stdin, user, ...form };
    return this.#run(routes.exec, body, options, binary === true ? readBinaryCall : readCall);
  }

  /** Calls a tool. Give the model's arguments as it wrote them: the model receives what is wrong in them, and it is no error. */
  async call<Name extends keyof Tools & string>(
    name: Name,
    written: Tools[Name] | string,
    options: CallOptions = {},
  ): Promise<CallResult> {
    checkBounds(options);
    const body = { name, arguments: readable((written ?? null) as Json | string) };
    return this.#run(routes.call, body, options);
  }

  /** A file's bytes; below the workspace, or absolute. Throws Refused if it does not exist, is no file, or is larger. */
  async read(path: string, mostBytes = longestFileBytes): Promise<Uint8Array> {
    checkPath(path);
    const { answer } = await this.#act(
      this.#asked(routes.read, { path }, { mostBytes, silentS: fileSilentS }),
    );
    if (!answer.isCut) return answer.content;
    const failure = ownFailure('payload_too_large', `it has more than ${mostBytes} bytes`, 'model');
    throw new Refused(failure).named(this.rolloutId);
  }

  /** Writes a file, below the workspace or absolute, as the policy's user. Throws Refused if that is impossible. */
  async write(path: string, data: Uint8Array | string, { setup = false }: SetupOption = {}): Promise<void> {
    checkPath(path);
    const body = new Uint8Array(typeof data === 'string' ? new TextEncoder().encode(data) : data);
    // Under an id, so that a repeat whose first answer was lost does not put back what a later call has changed.
    const query = { call_id: `u-${randomUUID()}`, ...(setup && { setup: 'true' }) };
    await this.#act(this.#asked(routes.write, { path }, { body, query, silentS: fileSilentS }));
  }

  /** Runs the environment's grader, once; a repeat gets the stored score. `sample`: the model's answer, `{ output_text }`. */
  async grade(sample?: Json): Promise<Grade> {
    if (sample !== undefined) checkSample(sample);
    this.#checkMisuse();
    const body = this.#text(sample === undefined ? {} : { sample });
    return this.#read(readGrade, await this.#repeated(this.#asked(routes.grade, {}, { body })));
  }

  /** Brings the trainer's own score, if the environment leaves grading to it. A rollout that lost its state takes none. */
  async score(score: number): Promise<void> {
    this.#checkMisuse();
    await this.#repeated(this.#asked(routes.finish, {}, { body: jsonText({ score }) }));
    this.#isOver = true;
    letGo(this.#held);
  }

  /** Discards the rollout because its environment does not meet the task's requirements, as a failure of the caller. */
  async refuse(requirement: string, refusal: Refusal): Promise<void> {
    const cut = Object.entries(refusal).map(([name, text]) => [name, text.slice(0, longestRefusalText)]);
    const body = jsonText({ requirement, ...Object.fromEntries(cut) });
    await this.#act(this.#asked(routes.refuse, {}, { body }));
    const { wanted, given, fix } = refusal;
    const evidence = { requirement, wanted, given, fix };
    const message = `${wanted}, but ${given}; ${fix}`;
    this.#bar(new RequirementsUnmet(ownFailure('requirements_unmet', message, 'caller', { evidence })));
    letGo(this.#held);
  }

  /** The fleet's word: scorable, or discarded and why. */
  async verdict(): Promise<Verdict> {
    await this.#givenUp;
    return this.#read(readVerdict, await exchange(this.#held.gateway, this.#asked(routes.verdict)));
  }

  /** Lets the sandbox go. Idempotent, and never throws: a score stays, and the end of the process tries again what failed. */
  async finish(): Promise<void> {
    this.#isOver = true;
    this.#finishing ??= this.#finish();
    await this.#finishing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.finish();
  }

  async #open(): Promise<Opened> {
    hold(this.#held);
    const asked: Asked = { route: routes.open, path: routes.open.path, body: jsonText(this.#openBody) };
    const reply = await this.#barring(asked).catch((error: unknown) => {
      // A refused rollout has nothing to let go.
      if (!(error instanceof Unavailable)) letGo(this.#held);
      throw error;
    });
    const opened = this.#read(readOpened, reply);
    this.#isOpen = true;
    if (this.#isOver) await this.#finish();
    else void keepAlive(new WeakRef(this), this.#held, leaseSOf(opened.leaseUntil, reply.answer));
    return opened;
  }

  /** Sends the call until it has settled. Its id stays the same, so it runs at most once whatever breaks meanwhile. */
  async #run(
    route: Route,
    body: Json,
    { timeoutS, callId, signal, setup, probe = false }: CallOptions & Pick<ExecOptions, 'probe'>,
    read = readCall,
  ): Promise<CallResult> {
    const call = callId ?? `c-${randomUUID()}`;
    const beganMs = performance.now();
    const mark = setup === true ? { setup } : {};
    const text = this.#text({ call_id: call, ...body, ...mark, timeout_s: timeoutS }, probe);
    const stopping = signal === undefined ? {} : { signal };
    const isNewId = callId === undefined;
    const asked = this.#asked(route, {}, { body: text, isNewId, isProbe: probe, ...stopping });
    try {
      return this.#read(read, await this.#settled(asked, call));
    } catch (error) {
      // A command that is no longer waited for must stop, and not run on next to the following one.
      if (signal?.aborted === true && !this.#isOver) this.#giveUp(call, performance.now() - beganMs);
      throw error;
    }
  }

  async #settled(asked: Asked, call: string): Promise<Reply> {
    const untilMs = performance.now() + longestWorkMs;
    let reply = await this.#act(asked);
    while (reply.status === 202) {
      if (performance.now() > untilMs)
        throw this.#bar(
          new Discarded(ownFailure('still_running', 'the call does not end', 'infrastructure')),
        );
      reply = await this.#attach({ ...asked, isNewId: true }, call);
    }
    return reply;
  }

  /** For what is known by its rollout alone: sent again while its work goes on. */
  async #repeated(asked: Asked): Promise<Reply> {
    const untilMs = performance.now() + longestWorkMs;
    let reply = await this.#act(asked);
    while (reply.status === 202 && performance.now() < untilMs) reply = await this.#act(asked);
    return reply;
  }

  async #attach(asked: Asked, call: string): Promise<Reply> {
    this.#check();
    const { signal } = asked;
    const again = this.#asked(routes.attach, { call_id: call }, signal === undefined ? {} : { signal });
    try {
      return await this.#heard(again);
    } catch (error) {
      // Fleet state may have forgotten the call; its sandbox has not, and a repeat attaches there.
      if (error instanceof Misuse && error.code === 'unknown_call') return this.#act(asked);
      throw error instanceof CorralError ? this.#failed(asked, error) : error;
    }
  }

  #giveUp(call: string, waitedMs: number): void {
    if (!this.#isOpen) return void this.#bar(neverBegan(waitedMs));
    const { gateway } = this.#held;
    const patienceS = Math.min(finishPatienceS, gateway.patienceS);
    const asked = this.#asked(routes.cancel, { call_id: call }, { patienceS });
    const learning = findReason(gateway, asked, waitedMs);
    const earlier = this.#givenUp;
    this.#givenUp = (async () => {
      const reason = await learning;
      if (reason !== null) this.#bar(reason);
      await earlier;
    })();
  }

  async #finish(): Promise<void> {
    if (!isHeld(this.#held)) return;
    try {
      const patienceS = Math.min(finishPatienceS, this.#held.gateway.patienceS);
      await exchange(this.#held.gateway, this.#asked(routes.finish, {}, { patienceS }));
    } catch (error) {
      if (!(error instanceof CorralError) || error instanceof Unavailable) return;
      // An open whose answer was lost may still arrive: then the end of the process deletes it.
      if (!this.#isOpen && error.code === 'rollout_unknown') return;
    }
    letGo(this.#held);
  }

  async #act(asked: Asked): Promise<Reply> {
    await this.#waitUntilOpen(asked.signal);
    this.#check();
    return this.#barring(asked);
  }

  /** No longer than the caller of this one request waits: others share the opening. */
  async #waitUntilOpen(signal: AbortSignal | undefined): Promise<void> {
    const opening = this.open().then(() => this.#givenUp);
    if (signal === undefined) return opening;
    const left = listenForAbort(signal);
    try {
      await Promise.race([opening, left.aborted]);
    } catch (error) {
      if (signal.aborted && this.#openTrouble !== null) this.#bar(this.#openTrouble);
      throw error;
    } finally {
      left.forget();
    }
  }

  async #barring(asked: Asked): Promise<Reply> {
    try {
      return await this.#heard(asked);
    } catch (error) {
      throw error instanceof CorralError ? this.#failed(asked, error) : error;
    }
  }

  /** Neither what the policy may have caused nor a probe's mistake keeps the rollout from a score. */
  #failed({ isProbe = false }: Asked, error: CorralError): CorralError {
    const isHarmless = error instanceof Refused || (isProbe && error instanceof Misuse);
    return isHarmless ? error.named(this.rolloutId) : this.#bar(error);
  }

  /**
   * A trainer's own deadline that ends while the infrastructure is away is not the policy's slowness: code that goes on and
   * grades would make a low score of it.
   */
  async #heard(asked: Asked): Promise<Reply> {
    let trouble: CorralError | null = null;
    const onTrouble = (error: CorralError | null) => {
      trouble = error;
      if (asked.route === routes.open) this.#openTrouble = error;
    };
    try {
      return await exchange(this.#held.gateway, { ...asked, onTrouble });
    } catch (error) {
      if (asked.signal?.aborted === true && trouble !== null) this.#bar(trouble);
      throw error;
    }
  }

  #bar(error: CorralError): CorralError {
    const named = error.named(this.rolloutId);
    if (named instanceof Misuse) this.#misused ??= named;
    else this.#barred ??= named;
    return named;
  }

  /** What is not JSON was never sent: a score must not come of that. */
  #text(body: Json, isProbe = false): string {
    try {
      return jsonText(body);
    } catch (error) {
      throw error instanceof Misuse && !isProbe ? this.#bar(error) : error;
    }
  }

  /** A score must not come of calls that the job's own mistake kept from running. */
  #checkMisuse(): void {
    this.#check();
    if (this.#misused !== null) throw this.#misused.with({});
  }

  #check(): void {
    if (this.#barred !== null) throw this.#barred.with({});
    if (!this.#isOver) return;
    const { rolloutId } = this;
    throw new Discarded(
      ownFailure('rollout_closed', 'the rollout was finished here', 'caller', { rolloutId }),
    );
  }

  #read<Value>(read: (body: Json) => Value, { body }: Reply): Value {
    try {
      return read(body);
    } catch (error) {
      if (!(error instanceof NotCorral)) throw error;
      const message = `the gateway's answer cannot be read: ${error.message}`;
      throw this.#bar(new Discarded(ownFailure('not_corral', message, 'infrastructure')));
    }
  }

  #asked(route: Route, names: Readonly<Record<string, string>> = {}, rest: Partial<Asked> = {}): Asked {
    const query = { ...queryOf(this.#held), ...rest.query };
    return { ...rest, route, path: pathOf(this.#held, route, names), query };
  }
}

/** `aborted` rejects with what the signal aborts with; `forget` ends the listening. */
function listenForAbort(signal: AbortSignal) {
  const listening = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    const leave = () => reject(signal.reason as Error);
    signal.addEventListener('abort', leave, { once: true, signal: listening.signal });
    if (signal.aborted) leave();
  });
  return { aborted, forget: () => listening.abort() };
}
