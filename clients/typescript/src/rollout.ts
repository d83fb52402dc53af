import { randomUUID } from 'node:crypto';
import { Client } from './client.ts';
import { type CorralError, ownFailure, Refused, RequirementsUnmet } from './errors.ts';
import { type Asked, exchange } from './exchange.ts';
import { letGo, prepareToLeave } from './leaving.ts';
import {
  type CallResult,
  type Grade,
  type Opened,
  readBinaryCall,
  readCall,
  readGrade,
  readVerdict,
  type Verdict,
} from './results.ts';
import { type Route, routes } from './routes.ts';
import { Session } from './session.ts';
import { Running } from './streaming.ts';
import type { ToolArguments } from './tool-types.ts';
import {
  checkBounds,
  checkPath,
  checkSample,
  commandBody,
  type CommandOptions,
  type Json,
  jsonText,
  readable,
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

export type ExecOptions = CallOptions &
  CommandOptions & {
    /** The result has `stdoutBytes` and `stderrBytes`. */
    readonly binary?: boolean;
    /** An adapter's own question to the sandbox. If it is `Misuse`, the rollout can still be graded. */
    readonly probe?: boolean;
  };

export type StreamOptions = CallOptions &
  CommandOptions & {
    /** stdin stays open after `stdin`, for `write`. */
    readonly openStdin?: boolean;
  };

export type Refusal = { readonly wanted: string; readonly given: string; readonly fix: string };

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
  readonly #session: Session;

  constructor(environment: string, options: RolloutOptions = {}) {
    const { client = new Client(), rolloutId = `r-${randomUUID()}`, attempt = 1, ...rest } = options;
    prepareToLeave();
    this.environment = environment;
    this.rolloutId = rolloutId;
    this.attempt = attempt;
    const held = { gateway: client.gateway, rolloutId, attempt };
    this.#session = new Session(held, { rollout_id: rolloutId, attempt, environment, ...rest });
  }

  get isOver(): boolean {
    return this.#session.isOver;
  }

  /** Why this rollout has no score, as far as this process knows; null while nothing has failed. */
  get discarded(): CorralError | null {
    return this.#session.barred ?? this.#session.misused;
  }

  /** Takes its place in line. Every use does so by itself; call it to be early, or to learn of a wrong key now. */
  async open(): Promise<Opened> {
    return this.#session.open();
  }

  /** Runs a command in the sandbox: text by `bash -c` (`sh -c` if the image has no bash), or a list of words. */
  async exec(command: string | readonly string[], options: ExecOptions = {}): Promise<CallResult> {
    const { binary } = options;
    const body = { ...commandBody(command, options), binary };
    checkBounds(options);
    return this.#run(routes.exec, body, options, binary === true ? readBinaryCall : readCall);
  }

  /** A command as `exec` runs it, to be followed while it runs. Nothing is sent before the first use. */
  stream(command: string | readonly string[], options: StreamOptions = {}): Running {
    const body = { ...commandBody(command, options), stream: true, open_stdin: options.openStdin };
    checkBounds(options);
    const call = options.callId ?? newCallId();
    const asked = this.#sent(routes.exec, body, options, call);
    return new Running(this.#session, asked, call, options.openStdin === true);
  }

  /**
   * What a terminal of the environment prints, in `stdout`: first the latest 64 KiB, then everything until its program ends, or for
   * `timeoutS` (an hour). `terminal`: its number, as the model reads it. Nothing is sent before the first use.
   */
  followTerminal(terminal: number, options: Omit<CallOptions, 'setup'> = {}): Running {
    checkBounds(options);
    const call = options.callId ?? newCallId();
    const asked = this.#sent(routes.terminal, {}, options, call, { terminal: String(terminal) });
    return new Running(this.#session, asked, call, false);
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
    const { answer } = await this.#session.act(
      this.#session.asked(routes.read, { path }, { mostBytes, silentS: fileSilentS }),
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
    await this.#session.act(
      this.#session.asked(routes.write, { path }, { body, query, silentS: fileSilentS }),
    );
  }

  /** Runs the environment's grader, once; a repeat gets the stored score. `sample`: the model's answer, `{ output_text }`. */
  async grade(sample?: Json): Promise<Grade> {
    if (sample !== undefined) checkSample(sample);
    this.#session.checkMisuse();
    const body = this.#session.text(sample === undefined ? {} : { sample });
    return this.#session.read(
      readGrade,
      await this.#session.repeated(this.#session.asked(routes.grade, {}, { body })),
    );
  }

  /** Brings the trainer's own score, if the environment leaves grading to it. A rollout that lost its state takes none. */
  async score(score: number): Promise<void> {
    this.#session.checkMisuse();
    await this.#session.repeated(this.#session.asked(routes.finish, {}, { body: jsonText({ score }) }));
    this.#session.isOver = true;
    letGo(this.#session.held);
  }

  /** Discards the rollout because its environment does not meet the task's requirements, as a failure of the caller. */
  async refuse(requirement: string, refusal: Refusal): Promise<void> {
    const cut = Object.entries(refusal).map(([name, text]) => [name, text.slice(0, longestRefusalText)]);
    const body = jsonText({ requirement, ...Object.fromEntries(cut) });
    await this.#session.act(this.#session.asked(routes.refuse, {}, { body }));
    const { wanted, given, fix } = refusal;
    const evidence = { requirement, wanted, given, fix };
    const message = `${wanted}, but ${given}; ${fix}`;
    this.#session.bar(
      new RequirementsUnmet(ownFailure('requirements_unmet', message, 'caller', { evidence })),
    );
    letGo(this.#session.held);
  }

  /** The fleet's word: scorable, or discarded and why. */
  async verdict(): Promise<Verdict> {
    await this.#session.givenUp;
    return this.#session.read(
      readVerdict,
      await exchange(this.#session.held.gateway, this.#session.asked(routes.verdict)),
    );
  }

  /** Lets the sandbox go. Idempotent, and never throws: a score stays, and the end of the process tries again what failed. */
  async finish(): Promise<void> {
    await this.#session.finish();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.finish();
  }

  /** Sends the call until it has settled. Its id stays the same, so it runs at most once whatever breaks meanwhile. */
  async #run(
    route: Route,
    body: Json,
    options: CallOptions & Pick<ExecOptions, 'probe'>,
    read = readCall,
  ): Promise<CallResult> {
    const { signal } = options;
    const call = options.callId ?? newCallId();
    const asked = this.#sent(route, body, options, call);
    const beganMs = performance.now();
    try {
      return this.#session.read(read, await this.#session.settled(asked, call));
    } catch (error) {
      if (signal?.aborted === true) this.#session.giveUp(call, performance.now() - beganMs);
      throw error;
    }
  }

  #sent(
    route: Route,
    body: Json,
    { timeoutS, callId, signal, setup, probe: isProbe = false }: CallOptions & Pick<ExecOptions, 'probe'>,
    call: string,
    names: Readonly<Record<string, string>> = {},
  ): Asked {
    const mark = setup === true ? { setup } : {};
    const text = this.#session.text({ call_id: call, ...body, ...mark, timeout_s: timeoutS }, isProbe);
    const stopping = signal === undefined ? {} : { signal };
    const isNewId = callId === undefined;
    return this.#session.asked(route, names, { body: text, isNewId, isProbe, ...stopping });
  }
}

const newCallId = (): string => `c-${randomUUID()}`;
