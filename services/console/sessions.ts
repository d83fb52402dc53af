import { isLoopback } from '#src/access/authorise.ts';
import { Failure } from '#src/failure/failure.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Random } from '#src/ports/random.ts';
import { KeyAnswer } from '#src/protocol/native/key.ts';
import { type Gateway, GatewayRefusal } from './gateway.ts';

/** Someone who is logged in. The key stays in this process' memory: no page and no disk ever has it. */
export type Session = {
  readonly gateway: Gateway;
  /** Names the key without giving it away; indexes of runs belong to it. */
  readonly key: string;
  readonly grant: KeyAnswer;
};

type Kept = Session & {
  readonly openedAtMs: number;
  usedAtMs: number;
  checkedAtMs: number;
  checking: Promise<void> | null;
};

const hourMs = 60 * 60 * 1000;
const longestMs = 12 * hourMs;
const longestIdleMs = 2 * hourMs;
/** A key that was removed or has expired ends its sessions within this time. */
const checkEveryMs = 2_000;
const mostSessions = 500;
/** 258 bits. */
const tokenLength = 50;

export type SessionsDeps = {
  readonly connect: (key: string) => Gateway;
  readonly clock: Clock;
  readonly random: Random;
  /** What was made for a session is over with it. */
  readonly onEnd: (session: Session) => void;
};

/** Sessions of people, in memory: a restart asks them for their key again. */
export class Sessions {
  readonly #deps: SessionsDeps;
  readonly #all = new Map<string, Kept>();

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
  }

  /** Throws a Failure or the gateway's refusal if the key opens nothing here. */
  async open(key: string, from: Origin): Promise<{ readonly token: string; readonly session: Session }> {
    this.#endOld();
    if (this.#all.size >= mostSessions)
      throw new Failure(
        'gateway_overloaded',
        `${mostSessions} people are logged in already; try again later`,
      );
    const { clock, random, connect } = this.#deps;
    const gateway = connect(key);
    try {
      const grant = await gateway.ask('/v1/key', KeyAnswer);
      requireReader(grant, from);
      const nowMs = clock.nowMs();
      const times = { openedAtMs: nowMs, usedAtMs: nowMs, checkedAtMs: nowMs };
      const token = random.text(tokenLength);
      const session = { gateway, key, grant, ...times, checking: null };
      this.#all.set(token, session);
      return { token, session };
    } catch (thrown) {
      await gateway.close();
      throw thrown;
    }
  }

  /** The session of a cookie, if its key is still in force. Throws otherwise. */
  async find(token: string | undefined, from: Origin): Promise<Session> {
    const session = token === undefined ? undefined : this.#all.get(token);
    const nowMs = this.#deps.clock.nowMs();
    if (token === undefined || session === undefined || isOver(session, nowMs)) throw loggedOut();
    requireReader(session.grant, from);
    if (nowMs - session.checkedAtMs > checkEveryMs)
      await (session.checking ??= this.#check(token, session, from));
    session.usedAtMs = nowMs;
    return session;
  }

  end(token: string | undefined): void {
    const session = token === undefined ? undefined : this.#all.get(token);
    if (token === undefined || session === undefined) return;
    this.#all.delete(token);
    this.#deps.onEnd(session);
    void session.gateway.close();
  }

  close(): void {
    for (const token of this.#all.keys()) this.end(token);
  }

  /** A gateway that is away says nothing about the key, so the session stays. */
  async #check(token: string, session: Kept, from: Origin): Promise<void> {
    try {
      requireReader(await session.gateway.ask('/v1/key', KeyAnswer), from);
      session.checkedAtMs = this.#deps.clock.nowMs();
    } catch (thrown) {
      if (!isRefusal(thrown)) throw thrown;
      this.end(token);
      throw loggedOut();
    } finally {
      session.checking = null;
    }
  }

  #endOld(): void {
    const nowMs = this.#deps.clock.nowMs();
    for (const [token, session] of this.#all) if (isOver(session, nowMs)) this.end(token);
  }
}

/** Where a browser connects from; `forwarded`: through a proxy. */
export type Origin = { readonly remoteAddress: string; readonly forwarded: boolean };

const isOver = ({ openedAtMs, usedAtMs }: Kept, nowMs: number): boolean =>
  nowMs - openedAtMs > longestMs || nowMs - usedAtMs > longestIdleMs;

const isRefusal = (thrown: unknown): boolean =>
  (thrown instanceof GatewayRefusal && [401, 403].includes(thrown.status)) ||
  (thrown instanceof Failure && thrown.code === 'unauthorized');

const developmentKey = 'development';

/**
 * A key that plays rollouts is no key for people: outputs of other rollouts may have what its policy must not read. The development
 * key is for this machine, and the gateway cannot see where the browser is.
 */
function requireReader({ key, scopes }: KeyAnswer, { remoteAddress, forwarded }: Origin): void {
  if (!scopes.some((scope) => scope === 'watch' || scope === 'admin'))
    throw new Failure(
      'unauthorized',
      `the key "${key}" has no scope watch or admin; log in with one that has`,
    );
  if (key === developmentKey && (forwarded || !isLoopback(remoteAddress)))
    throw new Failure('unauthorized', 'the development key works in a browser on this machine only');
}

const loggedOut = () => new Failure('unauthorized', 'you are not logged in, or your session has ended');
