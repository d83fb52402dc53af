import { type CorralError, Misuse, ownFailure } from './errors.ts';
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
import { type CallResult, NotCorral, readBinaryCall } from './results.ts';
import { routes } from './routes.ts';
import { Sending } from './sending.ts';
import type { Session } from './session.ts';
import { Stdin } from './stdin.ts';
import { openAnswer } from './transport.ts';

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
  readonly #sending: Sending;
  /** Null: the command was not sent with an open one. */
  readonly #stdin: Stdin | null;
  readonly #following: Asked;
  readonly #at = { stdout: 0, stderr: 0 };
  #tries: Tries | null = null;
  #signs = 0;
  #isOver = false;
  #hasResult = false;

  constructor(session: Session, asked: Asked, callId: string, keepsStdin: boolean) {
    this.callId = callId;
    this.#session = session;
    this.#sending = new Sending(session, asked, callId);
    this.#stdin = keepsStdin ? new Stdin(this.#sending) : null;
    const { signal } = asked;
    const onTrouble = (error: CorralError | null) => void (this.#sending.trouble = error);
    const rest = { onTrouble, ...(signal === undefined ? {} : { signal }) };
    this.#following = session.asked(routes.stream, { call_id: callId }, rest);
  }

  /** Sends the command, and waits until the fleet has begun with it. Every other use does so by itself. */
  async start(): Promise<void> {
    return this.#sending.start();
  }

  /** A loop that is left early loses nothing: the next one goes on at the same byte. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Output | Gap> {
    try {
      while (!this.#isOver) {
        await this.#sending.start();
        this.#isOver = await this.#goOn(yield* this.#listen());
      }
    } catch (error) {
      throw this.#sending.leave(error);
    }
  }

  /**
   * Gives the command these bytes, and waits until it reads. False if it did not take them all, because it has ended, or has closed
   * its stdin. Needs `openStdin`. Several writes at once are given in the order of their calls.
   */
  async write(data: Uint8Array | string): Promise<boolean> {
    return this.#openStdin().write(typeof data === 'string' ? new TextEncoder().encode(data) : data);
  }

  /** Nothing more is written. */
  async endStdin(): Promise<void> {
    return this.#openStdin().end();
  }

  /** Checked here, because the same error from the fleet could have been forged by a root command. */
  #openStdin(): Stdin {
    if (this.#stdin !== null) return this.#stdin;
    const message = 'a command takes stdin while it runs only with openStdin: true';
    throw this.#session.bar(new Misuse(ownFailure('invalid_request', message, 'caller')));
  }

  /** How the command ended, as `exec` returns it, with the bytes that are kept of its streams. Waits for its end. */
  async result(): Promise<CallResult> {
    const reply = await this.#sending.settled(() => this.#isOver);
    this.#hasResult = true;
    return this.#session.read(readBinaryCall, reply);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOver && !this.#hasResult) this.#sending.giveUp();
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
    this.#sending.trouble = null;
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
    this.#sending.trouble = null;
  }

  /** Whether it is over. Throws if another connection does not help. */
  async #goOn(left: Left): Promise<boolean> {
    if (left === 'end') return true;
    if ('error' in left) await this.#sending.startAgain(left.error);
    else if (left.again.error.code !== 'still_running') await this.#triesNow().pause(left.again);
    else {
      // The time of one request is over, and the command runs on.
      this.#tries = this.#sending.trouble = null;
      await sleep(firstPauseS * 1000, this.#sending.signal);
    }
    return false;
  }
}
