import { CorralError, Misuse, ownFailure } from './errors.ts';
import { type Gap, type Output, readEvents } from './events.ts';
import {
  type Again,
  type Asked,
  firstPauseS,
  judge,
  markMet,
  ofBroken,
  ofFailure,
  ofLateRequest,
  sleep,
  toSent,
  Tries,
} from './exchange.ts';
import { type CallResult, NotCorral, readBinaryCall, readStdin } from './results.ts';
import { routes } from './routes.ts';
import { longestWorkMs, type Session } from './session.ts';
import { openAnswer } from './transport.ts';

/** Of one request for stdin; the fleet takes up to four times as much. */
const stdinPieceBytes = 256 * 1024;
/** The gateway says something every 15 s. */
const streamSilentS = 60;

/** What ended a connection of the stream. */
type Left = 'end' | { readonly again: Again } | { readonly error: CorralError };

/**
 * A command that `Rollout.stream` has started: iterate it for what it prints. The iteration ends when the command has ended. What
 * hinders it, a stream that breaks off too, is tried again at the byte where it broke, and thrown as by `exec` if that does not help.
 *
 * The stream only shows what happens: how the command ended, `result` says. With `await using`, leaving before the end stops it.
 */
export class Running implements AsyncIterable<Output | Gap>, AsyncDisposable {
  readonly callId: string;
  readonly #session: Session;
  readonly #keepsStdin: boolean;
  #asked: Asked;
  readonly #following: Asked;
  readonly #untilMs = performance.now() + longestWorkMs;
  readonly #at = { stdout: 0, stderr: 0 };
  #sentAtMs: number | null = null;
  #beginning: Promise<void> | null = null;
  #tries: Tries | null = null;
  #trouble: CorralError | null = null;
  #signs = 0;
  #isOver = false;
  #hasResult = false;
  #isGivenUp = false;
  #unwritten = new Uint8Array();
  #written = 0;
  #isToEnd = false;
  #isClosed = false;
  #writing: Promise<void> = Promise.resolve();

  constructor(session: Session, asked: Asked, callId: string, keepsStdin: boolean) {
    this.callId = callId;
    this.#keepsStdin = keepsStdin;
    this.#session = session;
    this.#asked = asked;
    const { signal } = asked;
    const onTrouble = (error: CorralError | null) => void (this.#trouble = error);
    const rest = { onTrouble, ...(signal === undefined ? {} : { signal }) };
    this.#following = session.asked(routes.stream, { call_id: callId }, rest);
  }

  /** Sends the command, and waits until the fleet has begun with it. Every other use does so by itself. */
  async start(): Promise<void> {
    this.#session.check();
    this.#checkTime();
    this.#sentAtMs ??= performance.now();
    this.#beginning ??= this.#begin().catch((error: unknown) => {
      this.#beginning = null;
      throw this.#leave(error);
    });
    await this.#beginning;
  }

  async #begin(): Promise<void> {
    for (;;) {
      const { status, body } = await this.#session.act(this.#asked);
      if (status !== 202 || body['sent'] === true) break;
      // The time of the request was over before.
      await sleep(firstPauseS * 1000, this.#asked.signal);
      this.#checkTime();
    }
    this.#asked = { ...this.#asked, isNewId: true };
  }

  #checkTime(): void {
    if (performance.now() > this.#untilMs) throw this.#session.unending();
  }

  /** A loop that is left early loses nothing: the next one goes on at the same byte. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Output | Gap> {
    try {
      while (!this.#isOver) {
        await this.start();
        this.#isOver = await this.#goOn(yield* this.#listen());
      }
    } catch (error) {
      throw this.#leave(error);
    }
  }

  /**
   * Gives the command these bytes, and waits until it reads. False if it did not take them all, because it has ended, or has closed
   * its stdin. Needs `openStdin`. Several writes at once are given in the order of their calls.
   */
  async write(data: Uint8Array | string): Promise<boolean> {
    this.#checkStdin();
    if (this.#isClosed) return false;
    const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
    this.#unwritten = joined(this.#unwritten, bytes);
    const end = this.#written + this.#unwritten.length;
    await this.#flush();
    return this.#written >= end;
  }

  /** Nothing more is written. */
  async endStdin(): Promise<void> {
    this.#checkStdin();
    this.#isToEnd = true;
    await this.#flush();
  }

  /** The fleet's own word would be taken for the policy's, which may have it from a command that runs as root. */
  #checkStdin(): void {
    if (this.#keepsStdin) return;
    const message = 'a command takes stdin while it runs only with openStdin: true';
    throw this.#session.bar(new Misuse(ownFailure('invalid_request', message, 'caller')));
  }

  /** How the command ended, as `exec` returns it, with the bytes that are kept of its streams. Waits for its end. */
  async result(): Promise<CallResult> {
    this.#sentAtMs ??= performance.now();
    try {
      const reply = this.#isOver
        ? await this.#session.settledBefore(this.#asked, this.callId)
        : await this.#session.settled(this.#asked, this.callId);
      this.#hasResult = true;
      return this.#session.read(readBinaryCall, reply);
    } catch (error) {
      throw this.#isOver ? error : this.#leave(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOver && !this.#hasResult) this.#giveUp();
    return Promise.resolve();
  }

  /** One connection, from the byte where the last one ended. */
  async *#listen(): AsyncGenerator<Output | Gap, Left> {
    const { gateway } = this.#session.held;
    const tries = this.#triesNow();
    const offset = `${this.#at.stdout}-${this.#at.stderr}`;
    const asked = { ...this.#following, query: { ...this.#following.query, offset } };
    const answer = await openAnswer({ ...toSent(gateway, asked, tries.leftS), silentS: streamSilentS });
    const broken = (reason: string) => ofBroken(gateway, asked, { reason, wasSent: true, isOwn: false });
    if ('reason' in answer || !answer.hasEvents) {
      const whole = 'reason' in answer ? answer : await answer.whole();
      const judged = judge(gateway, asked, tries.failed, whole);
      if (!('reply' in judged)) return judged;
      return judged.reply.status === 202 ? { again: ofLateRequest() } : broken('the answer is not a stream');
    }
    markMet(gateway);
    // What stood in its way is over.
    this.#trouble = null;
    this.#signs = 0;
    try {
      for await (const happened of readEvents(answer)) {
        if (happened.kind === 'end') return 'end';
        if (happened.kind === 'error') return ofFailure(asked, tries.failed, happened.failure);
        if (happened.kind === 'alive') {
          this.#noteSign();
          continue;
        }
        this.#moveTo(happened);
        yield happened;
      }
      return broken('the stream ended before the command did');
    } catch (error) {
      if (error instanceof NotCorral) return broken(error.message);
      throw error;
    } finally {
      answer.close();
    }
  }

  /** They start over with each piece that comes. */
  #triesNow(): Tries {
    return (this.#tries ??= new Tries(this.#session.held.gateway, this.#following));
  }

  /** The first sign of life comes with the connection. A second one shows that the stream works, though nothing is printed. */
  #noteSign(): void {
    this.#signs += 1;
    if (this.#signs > 1) this.#tries = null;
  }

  #moveTo(piece: Output | Gap): void {
    this.#at[piece.stream] = piece.at + (piece.kind === 'gap' ? piece.size : piece.data.length);
    this.#tries = null;
    this.#trouble = null;
  }

  /** Whether it is over. Throws if another connection does not help. */
  async #goOn(left: Left): Promise<boolean> {
    if (left === 'end') return true;
    if ('error' in left) await this.#startAgain(left.error);
    else if (left.again.error.code !== 'still_running') await this.#triesNow().pause(left.again);
    else {
      // The time of one request is over, and the command runs on.
      this.#tries = this.#trouble = null;
      await sleep(firstPauseS * 1000, this.#asked.signal);
    }
    return false;
  }

  /** The call has not been sent yet, or fleet state has forgotten it: it is sent again, and runs once. */
  async #startAgain(error: CorralError): Promise<void> {
    if (error.code !== 'unknown_call') throw error;
    this.#beginning = null;
    await sleep(firstPauseS * 1000, this.#asked.signal);
  }

  /** After the writes before it: until all is given that was to be written by then. */
  #flush(): Promise<void> {
    const flushing = this.#writing.then(() => this.#giveUnwritten());
    this.#writing = flushing.catch(() => undefined);
    return flushing;
  }

  async #giveUnwritten(): Promise<void> {
    while (!this.#isClosed && (this.#unwritten.length > 0 || this.#isToEnd)) {
      const piece = this.#unwritten.subarray(0, stdinPieceBytes);
      const isLast = this.#isToEnd && piece.length === this.#unwritten.length;
      const { received, open } = await this.#give(piece, isLast);
      const taken = Math.max(0, Math.min(received - this.#written, piece.length));
      this.#written += taken;
      this.#unwritten = this.#unwritten.subarray(taken);
      this.#isClosed = !open;
      if (open && taken === 0) await sleep(firstPauseS * 1000);
    }
    if (this.#isClosed) this.#unwritten = new Uint8Array();
  }

  async #give(piece: Uint8Array, isLast: boolean): Promise<{ received: number; open: boolean }> {
    const { signal } = this.#asked;
    const query = { offset: String(this.#written), ...(isLast ? { end: 'true' } : {}) };
    const rest = { query, body: new Uint8Array(piece), ...(signal === undefined ? {} : { signal }) };
    const asked = this.#session.asked(routes.stdin, { call_id: this.callId }, rest);
    for (;;) {
      await this.start();
      try {
        const reply = await this.#session.heard(asked);
        if (reply.status !== 202) return this.#session.read(readStdin, reply);
        // The time of the request was over, and the piece may have been given or not.
        await sleep(firstPauseS * 1000, signal);
      } catch (error) {
        if (!(error instanceof CorralError)) throw this.#leave(error);
        await this.#startAgain(error).catch((again: unknown) => {
          throw this.#leave(again);
        });
      }
    }
  }

  /** What leaves: after an abort of the caller's own the command stops, and time in which the fleet was away leaves no score. */
  #leave(error: unknown): unknown {
    if (this.#asked.signal?.aborted === true) {
      if (this.#trouble !== null) this.#session.bar(this.#trouble);
      this.#giveUp();
      return error;
    }
    return error instanceof CorralError ? this.#session.failed(this.#asked, error) : error;
  }

  #giveUp(): void {
    if (this.#sentAtMs === null || this.#isGivenUp) return;
    this.#isGivenUp = true;
    this.#session.giveUp(this.callId, performance.now() - this.#sentAtMs);
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
