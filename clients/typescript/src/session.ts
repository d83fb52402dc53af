import { CorralError, Discarded, Misuse, ownFailure, Refused, Unavailable } from './errors.ts';
import { type Asked, exchange, type Reply } from './exchange.ts';
import { findReason, neverBegan } from './giving-up.ts';
import { keepAlive, leaseSOf } from './heartbeat.ts';
import { type Held, hold, isHeld, letGo, pathOf, queryOf } from './leaving.ts';
import { NotCorral, type Opened, readOpened } from './results.ts';
import { type Route, routes } from './routes.ts';
import { type Json, jsonText } from './writing.ts';

/** Longer than any rollout lives (2 h) or any command runs (1 h): a bound on work that a gateway says goes on. */
export const longestWorkMs = 3 * 3_600_000;
const finishPatienceS = 30;

/**
 * What a rollout is to this process: opened once, kept alive, and barred from a score by what failed. The rollout and the commands
 * that it follows send everything through here, so that what happens to one of them counts for all.
 */
export class Session {
  readonly held: Held;
  readonly openBody: Json;
  isOver = false;
  barred: CorralError | null = null;
  /** A mistake of the job keeps this rollout from a score, and none of its later calls from running. */
  misused: Misuse | null = null;
  /** Until it is known of every call that was given up whether it had begun, later requests wait. */
  givenUp: Promise<void> = Promise.resolve();
  #opening: Promise<Opened> | null = null;
  #isOpen = false;
  #openTrouble: CorralError | null = null;
  #finishing: Promise<void> | null = null;

  constructor(held: Held, openBody: Json) {
    this.held = held;
    this.openBody = openBody;
  }

  get rolloutId(): string {
    return this.held.rolloutId;
  }

  async open(): Promise<Opened> {
    this.check();
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = null;
      throw error;
    });
    const opened = await this.#opening;
    this.check();
    return opened;
  }

  async finish(): Promise<void> {
    this.isOver = true;
    this.#finishing ??= this.#finish();
    await this.#finishing;
  }

  async #open(): Promise<Opened> {
    hold(this.held);
    const asked: Asked = { route: routes.open, path: routes.open.path, body: jsonText(this.openBody) };
    const reply = await this.barring(asked).catch((error: unknown) => {
      // A refused rollout has nothing to let go.
      if (!(error instanceof Unavailable)) letGo(this.held);
      throw error;
    });
    const opened = this.read(readOpened, reply);
    this.#isOpen = true;
    if (this.isOver) await this.#finish();
    else void keepAlive(new WeakRef(this), this.held, leaseSOf(opened.leaseUntil, reply.answer));
    return opened;
  }

  async settled(asked: Asked, call: string): Promise<Reply> {
    const untilMs = performance.now() + longestWorkMs;
    let reply = await this.act(asked);
    while (reply.status === 202) {
      if (performance.now() > untilMs) throw this.unending();
      reply = await this.#attach({ ...asked, isNewId: true }, call);
    }
    return reply;
  }

  /** Reads the result of a call whose `end` event arrived. A failed read does not bar the rollout from a score. */
  async settledBefore(asked: Asked, call: string): Promise<Reply> {
    this.check();
    const { signal } = asked;
    const attaching = this.asked(routes.attach, { call_id: call }, signal === undefined ? {} : { signal });
    try {
      const reply = await exchange(this.held.gateway, attaching);
      if (reply.status !== 202) return reply;
    } catch (error) {
      if (!(error instanceof CorralError)) throw error;
      if (error.code !== 'unknown_call') throw error.named(this.rolloutId);
    }
    // Fleet state has forgotten it.
    return this.settled(asked, call);
  }

  /** After longer than anything runs. */
  unending(): CorralError {
    return this.bar(new Discarded(ownFailure('still_running', 'the call does not end', 'infrastructure')));
  }

  /** For what is known by its rollout alone: sent again while its work goes on. */
  async repeated(asked: Asked): Promise<Reply> {
    const untilMs = performance.now() + longestWorkMs;
    let reply = await this.act(asked);
    while (reply.status === 202 && performance.now() < untilMs) reply = await this.act(asked);
    return reply;
  }

  async #attach(asked: Asked, call: string): Promise<Reply> {
    this.check();
    const { signal } = asked;
    const again = this.asked(routes.attach, { call_id: call }, signal === undefined ? {} : { signal });
    try {
      return await this.heard(again);
    } catch (error) {
      // Fleet state may have forgotten the call; its sandbox has not, and a repeat attaches there.
      if (error instanceof Misuse && error.code === 'unknown_call') return this.act(asked);
      throw error instanceof CorralError ? this.failed(asked, error) : error;
    }
  }

  /** A command that is no longer waited for must stop, and not run on next to the following one. */
  giveUp(call: string, waitedMs: number): void {
    if (this.isOver) return;
    if (!this.#isOpen) return void this.bar(neverBegan(waitedMs));
    const { gateway } = this.held;
    const patienceS = Math.min(finishPatienceS, gateway.patienceS);
    const asked = this.asked(routes.cancel, { call_id: call }, { patienceS });
    const learning = findReason(gateway, asked, waitedMs);
    const earlier = this.givenUp;
    this.givenUp = (async () => {
      const reason = await learning;
      if (reason !== null) this.bar(reason);
      await earlier;
    })();
  }

  async #finish(): Promise<void> {
    if (!isHeld(this.held)) return;
    try {
      const patienceS = Math.min(finishPatienceS, this.held.gateway.patienceS);
      await exchange(this.held.gateway, this.asked(routes.finish, {}, { patienceS }));
    } catch (error) {
      if (!(error instanceof CorralError) || error instanceof Unavailable) return;
      // An open whose answer was lost may still arrive: then the end of the process deletes it.
      if (!this.#isOpen && error.code === 'rollout_unknown') return;
    }
    letGo(this.held);
  }

  async act(asked: Asked): Promise<Reply> {
    await this.#waitUntilOpen(asked.signal);
    this.check();
    return this.barring(asked);
  }

  /** No longer than the caller of this one request waits: others share the opening. */
  async #waitUntilOpen(signal: AbortSignal | undefined): Promise<void> {
    const opening = this.open().then(() => this.givenUp);
    if (signal === undefined) return opening;
    const left = listenForAbort(signal);
    try {
      await Promise.race([opening, left.aborted]);
    } catch (error) {
      if (signal.aborted && this.#openTrouble !== null) this.bar(this.#openTrouble);
      throw error;
    } finally {
      left.forget();
    }
  }

  async barring(asked: Asked): Promise<Reply> {
    try {
      return await this.heard(asked);
    } catch (error) {
      throw error instanceof CorralError ? this.failed(asked, error) : error;
    }
  }

  /** Neither what the policy may have caused nor a probe's mistake keeps the rollout from a score. */
  failed({ isProbe = false }: Asked, error: CorralError): CorralError {
    const isHarmless = error instanceof Refused || (isProbe && error instanceof Misuse);
    return isHarmless ? error.named(this.rolloutId) : this.bar(error);
  }

  /**
   * A trainer's own deadline that ends while the infrastructure is away is not the policy's slowness: code that goes on and
   * grades would make a low score of it.
   */
  async heard(asked: Asked): Promise<Reply> {
    let trouble: CorralError | null = null;
    const onTrouble = (error: CorralError | null) => {
      trouble = error;
      if (asked.route === routes.open) this.#openTrouble = error;
    };
    try {
      return await exchange(this.held.gateway, { ...asked, onTrouble });
    } catch (error) {
      if (asked.signal?.aborted === true && trouble !== null) this.bar(trouble);
      throw error;
    }
  }

  bar(error: CorralError): CorralError {
    const named = error.named(this.rolloutId);
    if (named instanceof Misuse) this.misused ??= named;
    else this.barred ??= named;
    return named;
  }

  /** What is not JSON was never sent: a score must not come of that. */
  text(body: Json, isProbe = false): string {
    try {
      return jsonText(body);
    } catch (error) {
      throw error instanceof Misuse && !isProbe ? this.bar(error) : error;
    }
  }

  /** A score must not come of calls that the job's own mistake kept from running. */
  checkMisuse(): void {
    this.check();
    if (this.misused !== null) throw this.misused.with({});
  }

  check(): void {
    if (this.barred !== null) throw this.barred.with({});
    if (!this.isOver) return;
    const { rolloutId } = this;
    throw new Discarded(
      ownFailure('rollout_closed', 'the rollout was finished here', 'caller', { rolloutId }),
    );
  }

  read<Value>(read: (body: Json) => Value, { body }: Reply): Value {
    try {
      return read(body);
    } catch (error) {
      if (!(error instanceof NotCorral)) throw error;
      const message = `the gateway's answer cannot be read: ${error.message}`;
      throw this.bar(new Discarded(ownFailure('not_corral', message, 'infrastructure')));
    }
  }

  asked(route: Route, names: Readonly<Record<string, string>> = {}, rest: Partial<Asked> = {}): Asked {
    const query = { ...queryOf(this.held), ...rest.query };
    return { ...rest, route, path: pathOf(this.held, route, names), query };
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
