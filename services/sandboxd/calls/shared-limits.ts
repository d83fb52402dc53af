import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SharedLimit } from '#src/protocol/sandboxd/wire.ts';
import { spawnAs, type StartedProcess } from '../command/spawn-as.ts';
import type { Config } from '../config.ts';
import { nativeProgram, processUser } from '../users.ts';

/*
 * The kernel counts inotify instances, pipes, timers and the like for each user of a machine, and pseudo terminals for the whole
 * machine. Where sandboxes share a user, a neighbor can take all of them, and a program of this sandbox fails for no reason of its own.
 * So the answer of such a call names the limit, and the rollout is discarded and not scored for it.
 */

/** The letters of `try-limits` (`infra/payload/native/try-limits.c`). */
const limitsByLetter: Readonly<Record<string, SharedLimit>> = {
  i: 'inotify_instances',
  w: 'inotify_watches',
  e: 'epoll_watches',
  p: 'pipe_memory',
  s: 'pending_signals',
  f: 'files_in_flight',
  q: 'message_queues',
  m: 'locked_memory',
  t: 'pseudo_terminals',
};

const limitsIn = (letters: string): readonly SharedLimit[] =>
  letters.split('').flatMap((letter) => limitsByLetter[letter] ?? []);

/** It answers within a millisecond. Who does not is held up by the policy, at its own expense. */
const answersWithinMs = 1_000;
/** A policy that ends it each time is left without. */
const mostStarts = 20;

/** The process that tries, and its answers, each a line. */
type Trier = { readonly started: StartedProcess; readonly answers: AsyncIterator<Buffer> };

export class SharedLimits {
  readonly #config: Config;
  #trier: Trier | null = null;
  #starts = 0;
  #looking: Promise<unknown> = Promise.resolve();
  #next: Promise<readonly SharedLimit[]> | null = null;

  constructor(config: Config) {
    this.#config = config;
  }

  /** The process that tries, which is sandboxd's own. */
  get pid(): number | null {
    return this.#trier?.started.pid ?? null;
  }

  /** Which are used up from now on. Several that ask while one look is under way get the answer of the next. */
  look(): Promise<readonly SharedLimit[]> {
    if (!this.#config.sharesLimits) return Promise.resolve([]);
    this.#next ??= this.#looking.then(() => {
      this.#next = null;
      const look = this.#look();
      this.#looking = look;
      return look;
    });
    return this.#next;
  }

  /** Without an answer nothing is known. */
  async #look(): Promise<readonly SharedLimit[]> {
    const trier = (this.#trier ??= await this.#start());
    if (trier === null) return [];
    trier.started.child.stdin?.write('?');
    const late = sleep(answersWithinMs, null, { ref: false });
    const answer = await Promise.race([trier.answers.next().catch(() => null), late]);
    if (answer !== null && answer.done !== true) return limitsIn(answer.value.toString('latin1'));
    trier.started.child.kill('SIGKILL');
    this.#trier = null;
    return [];
  }

  async #start(): Promise<Trier | null> {
    if (this.#starts >= mostStarts) return null;
    this.#starts += 1;
    const started = await spawnAs(trierSpec(this.#config)).catch(() => null);
    if (started === null) return null;
    started.stderr.resume();
    const { stdout } = started;
    return { started, answers: (stdout as Readable & AsyncIterable<Buffer>)[Symbol.asyncIterator]() };
  }
}

/** It has sandboxd's ids but for the moments in which it tries. No process of the policy's makes room for it. */
function trierSpec(config: Config) {
  const { policyUid, policyGid, userMode } = config;
  const ids = userMode === 'two-user' ? [policyUid, policyGid] : [-1, -1];
  return {
    argv: [nativeProgram(config, 'try-limits'), ...ids.map(String)],
    cwd: '/',
    env: {},
    user: { ...processUser(config, 'reader'), takesRoomOf: null },
    isInternal: true,
    stdin: 'pipe',
  } as const;
}
