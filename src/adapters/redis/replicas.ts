import { setTimeout as sleep } from 'node:timers/promises';
import { ReplyError } from 'ioredis';
import type { Connection } from './connection.ts';
import { unavailable } from './redis-trouble.ts';

/** Replicas that were silent for longer are ignored, as with Redis' own `min-replicas-max-lag`. */
const maxReplicaLagS = 10;

/** A replica that answers but does not catch up delays a verdict for so long. One that stands still is ignored before. */
const mostMs = 15_000;

/** Between two rounds, where one ends at once. */
const pauseMs = 50;

/**
 * Redis replies before its replicas receive a write, and a promoted replica may lack the last second. So a verdict is returned when a
 * replica has confirmed it. Where no live replica exists, it is returned at once.
 *
 * WAIT blocks everything behind it, so it has a connection of its own. Requests that arrive during a round share the next one: 500
 * verdicts of a burst take two.
 */
export class Replicas {
  readonly #connection: Connection;
  readonly #options: ReplicasOptions;
  #current: Promise<unknown> = Promise.resolve();
  #next: Promise<Round> | null = null;
  #isWaitSupported = true;

  constructor(connection: Connection, options: ReplicasOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  /**
   * Resolves when a replica has all that `redisRun` had written by now, and after {@link mostMs} in any case: the script has had its
   * effect, and its reply is the only one that says so. Throws `Failure('state_unavailable')` when that Redis was replaced or cannot be
   * reached: it is then unknown whether the verdict was kept.
   */
  async waitForReplica(redisRun: string): Promise<void> {
    const untilMs = performance.now() + mostMs;
    for (;;) {
      const { confirmed, on } = await this.#nextRound();
      if (on !== redisRun) throw unavailable('Redis was replaced during the request');
      if (confirmed) return;
      if (performance.now() >= untilMs) return this.#giveUp();
      await sleep(pauseMs);
    }
  }

  /** One that begins after now. */
  #nextRound(): Promise<Round> {
    this.#next ??= this.#current.then(async () => {
      this.#next = null;
      const round = this.#ask();
      this.#current = round.catch(() => undefined);
      return round;
    });
    return this.#next;
  }

  async #ask(): Promise<Round> {
    const { client, redisRun } = this.#connection;
    const done = { confirmed: true, on: redisRun };
    if (!this.#isWaitSupported) return done;
    const replication = await client.info('replication');
    if (!replication.includes('role:master')) throw unavailable('it has become a replica');
    if (!hasLiveReplica(replication)) return done;
    if (this.#connection.redisRun !== redisRun) throw unavailable('the connection was lost');
    return (await this.#waitOnce()) ? done : { ...done, confirmed: false };
  }

  /** Whether a replica has confirmed, within half of what a command may take. */
  async #waitOnce(): Promise<boolean> {
    const { channel, commandTimeoutMs } = this.#options;
    // In one go: WAIT is about the last write of its own connection.
    const sent = this.#connection.client
      .pipeline()
      .publish(channel, '')
      .wait(1, Math.floor(commandTimeoutMs / 2));
    const [error, confirmedBy] = (await sent.exec())?.[1] ?? [null, 0];
    if (error === null) return Number(confirmedBy) > 0;
    if (!(error instanceof ReplyError) || !lacksWait.test(error.message))
      throw unavailable(error.message, error);
    this.#isWaitSupported = false;
    this.#options.onTrouble(
      new Error(`Redis refuses WAIT, so a verdict may be lost when a replica is promoted (${error.message})`),
    );
    return true;
  }

  #giveUp(): void {
    const said = `no replica confirmed a verdict within ${mostMs / 1_000} s; it may be lost when one is promoted`;
    this.#options.onTrouble(new Error(said));
  }
}

/** `on`: the Redis that was asked. */
type Round = { readonly confirmed: boolean; readonly on: string };

type ReplicasOptions = {
  /** A channel without subscribers. */
  readonly channel: string;
  /** How long the connection lets a command take. */
  readonly commandTimeoutMs: number;
  readonly onTrouble: (error: Error) => void;
};

/** Some hosted Redis do not have it, and some users may not use it. */
const lacksWait = /^(NOPERM|ERR unknown command)/i;

/**
 * By what INFO says: `slave0:ip=10.0.0.7,port=6379,state=online,offset=42,lag=0`. One that is still being filled is not online.
 */
export function hasLiveReplica(replication: string): boolean {
  const online = replication
    .split('\n')
    .filter((line) => line.startsWith('slave') && line.includes('state=online'));
  return online.some((line) => Number(/lag=(\d+)/.exec(line)?.[1] ?? Infinity) <= maxReplicaLagS);
}
