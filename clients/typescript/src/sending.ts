import { CorralError } from './errors.ts';
import { type Asked, firstPauseS, type Reply, sleep } from './exchange.ts';
import { longestWorkMs, type Session } from './session.ts';

/** A followed command's way to the fleet: sent by the first that needs it, and again where fleet state has forgotten it. */
export class Sending {
  readonly session: Session;
  readonly callId: string;
  /** What last hindered the stream. */
  trouble: CorralError | null = null;
  #asked: Asked;
  readonly #untilMs = performance.now() + longestWorkMs;
  #sentAtMs: number | null = null;
  #beginning: Promise<void> | null = null;
  #isGivenUp = false;

  constructor(session: Session, asked: Asked, callId: string) {
    this.session = session;
    this.callId = callId;
    this.#asked = asked;
  }

  get signal(): AbortSignal | undefined {
    return this.#asked.signal;
  }

  /** Waits until the fleet has begun with it. */
  async start(): Promise<void> {
    this.session.check();
    this.#checkTime();
    this.#sentAtMs ??= performance.now();
    this.#beginning ??= this.#begin().catch((error: unknown) => {
      this.#beginning = null;
      throw this.leave(error);
    });
    await this.#beginning;
  }

  async #begin(): Promise<void> {
    for (;;) {
      const { status, body } = await this.session.act(this.#asked);
      if (status !== 202 || body['sent'] === true) break;
      // The time of the request was over before.
      await sleep(firstPauseS * 1000, this.signal);
      this.#checkTime();
    }
    this.#asked = { ...this.#asked, isNewId: true };
  }

  #checkTime(): void {
    if (performance.now() > this.#untilMs) throw this.session.unending();
  }

  /** After `unknown_call`: it has not arrived yet, or fleet state has forgotten it. It is sent again, and runs once. Throws others. */
  async startAgain(error: CorralError): Promise<void> {
    if (error.code !== 'unknown_call') throw error;
    this.#beginning = null;
    await sleep(firstPauseS * 1000, this.signal);
  }

  /** How the command ended. `isHeard`: whether its end has come over the stream. */
  async settled(isHeard: () => boolean): Promise<Reply> {
    this.#sentAtMs ??= performance.now();
    try {
      if (isHeard()) return await this.session.settledBefore(this.#asked, this.callId);
      return await this.session.settled(this.#asked, this.callId);
    } catch (error) {
      throw isHeard() ? error : this.leave(error);
    }
  }

  /** What leaves: after an abort of the caller's own the command stops, and time in which the fleet was away leaves no score. */
  leave(error: unknown): unknown {
    if (this.signal?.aborted === true) {
      if (this.trouble !== null) this.session.bar(this.trouble);
      this.giveUp();
      return error;
    }
    return error instanceof CorralError ? this.session.failed(this.#asked, error) : error;
  }

  giveUp(): void {
    if (this.#sentAtMs === null || this.#isGivenUp) return;
    this.#isGivenUp = true;
    this.session.giveUp(this.callId, performance.now() - this.#sentAtMs);
  }
}
