import { CorralError } from './errors.ts';
import { type Gap, type Output, readEvents } from './events.ts';
import {
  type Again,
  type Asked,
  judge,
  markMet,
  ofBroken,
  ofFailure,
  sleep,
  toSent,
  Tries,
} from './exchange.ts';
import { type CallResult, NotCorral, readBinaryCall, readStdin } from './results.ts';
import { routes } from './routes.ts';
import { longestWorkMs, type Session } from './session.ts';
import { sendForStream } from './transport.ts';

/** Of one request for stdin; the fleet takes up to four times as much. */
const stdinPieceBytes = 256 * 1024;
/** The gateway says something every 15 s. */
const streamSilentS = 60;
const unknownPauseMs = 200;

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
  readonly #asked: Asked;
  readonly #following: Asked;
  readonly #untilMs = performance.now() + longestWorkMs;
  readonly #at = { stdout: 0, stderr: 0 };
  #sentAtMs: number | null = null;
  #beginning: Promise<void> | null = null;
  #tries: Tries | null = null;
  #trouble: CorralError | null = null;
  #isOver = false;
  #hasResult = false;
  #written = 0;

  constructor(session: Session, asked: Asked, callId: string) {
    this.callId = callId;
    this.#session = session;
    this.#asked = asked;
    const { signal } = asked;
    const onTrouble = (error: CorralError | null) => void (this.#trouble = error);
    const rest = { onTrouble, ...(signal === undefined ? {} : { signal }) };
    this.#following = session.asked(routes.stream, { call_id: callId }, rest);
  }

  /** Sends the command. Every other use does so by itself. */
  async start(): Promise<void> {
    this.#session.check();
    this.#sentAtMs ??= performance.now();
    this.#beginning ??= this.#session.act(this.#asked).then(
      () => undefined,
      (error: unknown) => {
        this.#beginning = null;
        throw this.#leave(error);
      },
    );
    await this.#beginning;
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
   * Gives the command these bytes, and waits until it reads. False once it has ended, or has closed its
   * stdin. Needs `openStdin`.
   */
  async write(data: Uint8Array | string): Promise<boolean> {
    let left = typeof data === 'string' ? new TextEncoder().encode(data) : data;
    while (left.length > 0) {
      const { taken, open } = await this.#give(left.subarray(0, stdinPieceBytes), false);
      if (!open) return false;
      left = left.subarray(taken);
    }
    return true;
  }

  /** Nothing more is written. */
  async endStdin(): Promise<void> {
    await this.#give(new Uint8Array(), true);
  }

  /** How the command ended, as `exec` returns it, with the bytes that are kept of its streams. Waits for its end. */
  async result(): Promise<CallResult> {
    this.#sentAtMs ??= performance.now();
    try {
      const reply = await this.#session.settled(this.#asked, this.callId);
      this.#hasResult = true;
      return this.#session.read(readBinaryCall, reply);
    } catch (error) {
      throw this.#leave(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#sentAtMs !== null && !this.#isOver && !this.#hasResult) this.#giveUp();
    return Promise.resolve();
  }

  /** One connection, from the byte where the last one ended. */
  async *#listen(): AsyncGenerator<Output | Gap, Left> {
    const { gateway } = this.#session.held;
    const tries = this.#triesNow();
    const offset = `${this.#at.stdout}-${this.#at.stderr}`;
    const asked = { ...this.#following, query: { ...this.#following.query, offset } };
    const answer = await sendForStream({ ...toSent(gateway, asked, tries.leftS), silentS: streamSilentS });
    const broken = (reason: string) => ofBroken(gateway, asked, { reason, wasSent: true, isOwn: false });
    if (!('chunks' in answer)) {
      const judged = judge(gateway, asked, tries.failed, answer);
      return 'reply' in judged ? broken('the answer is not a stream') : judged;
    }
    markMet(gateway);
    try {
      for await (const happened of readEvents(answer)) {
        if (happened.kind === 'end') return 'end';
        if (happened.kind === 'error') return ofFailure(asked, tries.failed, happened.failure);
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

  #moveTo(piece: Output | Gap): void {
    this.#at[piece.stream] = piece.at + (piece.kind === 'gap' ? piece.size : piece.data.length);
    this.#tries = null;
    this.#trouble = null;
  }

  /** Whether it is over. Throws if another connection does not help. */
  async #goOn(left: Left): Promise<boolean> {
    if (left === 'end') return true;
    if ('error' in left) await this.#startAgain(left.error);
    // The time of one request is over, and the command runs on.
    else if (left.again.error.code === 'still_running') this.#tries = null;
    else await this.#triesNow().pause(left.again);
    return false;
  }

  /** The call has not been sent yet, or fleet state has forgotten it: it is sent again, and runs once. */
  async #startAgain(error: CorralError): Promise<void> {
    if (error.code !== 'unknown_call' || performance.now() > this.#untilMs) throw error;
    this.#beginning = null;
    await sleep(unknownPauseMs, this.#asked.signal);
  }

  async #give(piece: Uint8Array, isLast: boolean): Promise<{ taken: number; open: boolean }> {
    const { signal } = this.#asked;
    const query = { offset: String(this.#written), ...(isLast ? { end: 'true' } : {}) };
    const rest = { query, body: new Uint8Array(piece), ...(signal === undefined ? {} : { signal }) };
    const asked = this.#session.asked(routes.stdin, { call_id: this.callId }, rest);
    for (;;) {
      await this.start();
      try {
        const { received, open } = this.#session.read(readStdin, await this.#session.heard(asked));
        const taken = Math.max(0, received - this.#written);
        this.#written += taken;
        return { taken, open };
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
    if (this.#sentAtMs !== null) this.#session.giveUp(this.callId, performance.now() - this.#sentAtMs);
  }
}
