import { ReplyError } from 'ioredis';
import type { Connection } from './connection.ts';
import { unavailable } from './redis-trouble.ts';

/** Of which nothing was heard for longer, a replica is not waited for: as Redis' own `min-replicas-max-lag`. */
const keepsUpS = 10;

/**
 * Redis answers before its replicas have heard, and one that takes its place has lost the last second. A verdict that a caller or
 * the event log was told must not be among it: it is told once a replica has it. Where no replica keeps up, it is told at once.
 *
 * WAIT holds up everything behind it, so it has a connection of its own. Who comes while it waits is answered by the next round:
 * 500 verdicts of one burst take two.
 */
export class Replicas {
  readonly #connection: Connection;
  readonly #options: ReplicasOptions;
  #current: Promise<unknown> = Promise.resolve();
  #next: Promise<string> | null = null;
  #mayWait = true;

  constructor(connection: Connection, options: ReplicasOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  /**
   * Resolves when a replica has all that `redisRun` had written by now. Throws `Failure('state_unavailable')` when none confirms it in
   * time, or another Redis answers: nobody knows then whether it was kept, and who asks again is told what was.
   */
  async haveAllOf(redisRun: string): Promise<void> {
    this.#next ??= this.#current.then(async () => {
      this.#next = null;
      const round = this.#confirm();
      this.#current = round.catch(() => undefined);
      return round;
    });
    if ((await this.#next) !== redisRun) throw unavailable('another Redis has taken its place');
  }

  /** The Redis whose writes a replica has. */
  async #confirm(): Promise<string> {
    const { client, redisRun } = this.#connection;
    if (!this.#mayWait || !replicaKeepsUp(await client.info('replication'))) return redisRun;
    if (this.#connection.redisRun !== redisRun) throw unavailable('the connection was lost');
    // In one go: WAIT speaks of what its own connection has written last.
    const { channel, commandTimeoutMs } = this.#options;
    const waited = client
      .pipeline()
      .publish(channel, '')
      .wait(1, Math.floor(commandTimeoutMs / 2));
    const [error, confirmedBy] = (await waited.exec())?.[1] ?? [null, 0];
    if (error === null && confirmedBy === 0) throw unavailable('no replica has a verdict yet');
    if (error !== null && !(error instanceof ReplyError)) throw error;
    if (error !== null) this.#doWithout(error);
    return redisRun;
  }

  /** Some hosted Redis, and some users of one, have no WAIT. */
  #doWithout({ message }: Error): void {
    this.#mayWait = false;
    const risk = 'a verdict that was told may be lost when a replica takes its place';
    this.#options.onTrouble(new Error(`Redis refuses WAIT, so ${risk} (${message})`));
  }
}

type ReplicasOptions = {
  /** Where nobody listens. */
  readonly channel: string;
  /** How long the connection lets a command take. */
  readonly commandTimeoutMs: number;
  readonly onTrouble: (error: Error) => void;
};

/**
 * By what INFO says of them: `slave0:ip=10.0.0.7,port=6379,state=online,offset=42,lag=0`. One that is still being filled is not
 * online.
 */
export function replicaKeepsUp(replication: string): boolean {
  const lags = [...replication.matchAll(/^slave\d+:.*state=online.*lag=(\d+)/gm)];
  return lags.some(([, lagS]) => Number(lagS) <= keepsUpS);
}
