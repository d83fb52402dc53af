import { Redis } from 'ioredis';
import { keysOf } from '#src/adapters/redis/keys.ts';
import { bootId, callId, rolloutId, sandboxId, type SandboxId } from '#src/model/ids.ts';
import { type Owner, sandboxAddress } from '#src/model/rollout.ts';
import { createRecheck, recover } from '#src/recovery/recover.ts';
import { Witness } from '#src/recovery/witness.ts';
import { KnownSandboxes } from '#src/pool/known-sandboxes.ts';
import { createFakeRandom } from '#test/fakes/random.ts';
import { systemClock } from '#src/platform/clock.ts';
import { type OverdueTools, settleOverdueCalls } from '#src/calls/settle-overdue.ts';
import { recordEnds, recordTaints } from '#src/lifecycle/record-ends.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import type { Judge } from '#src/ports/judge.ts';
import { LinkError, type SandboxTarget } from '#src/ports/sandbox-link.ts';
import type { RedisSettings } from '#test/support/redis.ts';
import type { EnvironmentOfTest } from '#test/fakes/environment.ts';
import { FakeSandboxProvider } from '#test/fakes/sandbox-provider.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { productionTimings } from '#src/model/timings.ts';
import { caller, CoreWorld } from '#test/support/core-world.ts';

export const keys = keysOf('test');

/** Gateways over a real Redis that can forget, sandboxes in memory that do not, and a controller's recovery. */
export class RecoveryWorld implements AsyncDisposable {
  readonly core: CoreWorld;
  readonly provider = new FakeSandboxProvider();
  readonly log = createFakeLog();
  /** What the controller has seen; a new one is a controller that has just been started. */
  witness = new Witness();
  /** Sandboxes that do not answer the controller, however often it asks. */
  readonly silent = new Set<SandboxId>();
  readonly clock = createHurriedClock();
  readonly random = createFakeRandom();
  readonly #signal = new AbortController().signal;

  private constructor(core: CoreWorld) {
    this.core = core;
  }

  static async start(
    given: Partial<EnvironmentOfTest> = {},
    settings: RedisSettings = {},
    judge?: Judge,
  ): Promise<RecoveryWorld> {
    return new RecoveryWorld(await CoreWorld.start(given, judge, settings));
  }

  get link() {
    return this.core.link;
  }

  /** A ready sandbox that the provider lists too. */
  async ready(): Promise<SandboxId> {
    const sandbox = await this.core.ready();
    await this.provide(sandbox);
    return sandbox;
  }

  async provide(sandbox: SandboxId): Promise<void> {
    await this.provider.create({ sandbox, template: this.core.environment.template, tokenSha256: '' });
  }

  /** Redis is killed, and comes back with nothing, or with what it wrote to disk. */
  async forgetAll(holding: 'nothing' | 'persisted' = 'nothing'): Promise<void> {
    await this.core.redis.restart(holding);
    await this.#reconnected();
  }

  /** Redis still has everything, but is another one: a replica was promoted. `missed` is what it never got. */
  async promote(missed: (redis: Redis, key: typeof keys) => Promise<unknown>): Promise<void> {
    await inRedis(this.core.redis.socket, async (redis) => {
      await missed(redis, keys);
      await redis.set(keys('redis'), 'another');
    });
  }

  /** What one controller does about it. */
  recover() {
    return recover(this.#tools(), this.#signal);
  }

  recheck() {
    const known = new KnownSandboxes(this.core.state.pool);
    return createRecheck({ ...this.#tools(), known })(this.#signal);
  }

  /** What it does about calls that nobody has settled by their deadline, which for all that are in flight is now. */
  async settleOverdue(link: OverdueTools['link'] = this.link, versionIsKept = true) {
    const { redis, state, events } = this.core;
    await inRedis(redis.socket, async (client) => {
      const calls = await client.zrange(keys('callDeadlines'), '0', '-1');
      await Promise.all(calls.map((call) => client.zadd(keys('callDeadlines'), 1, call)));
    });
    if (versionIsKept) await state.environments.publish(this.core.environment);
    const { clock, random } = this;
    const recorder = { ...state, clock, random, record: (event: FleetEvent) => void events.push(event) };
    const calls = recordTaints(state.calls, recorder);
    const lifecycle = recordEnds(state.lifecycle, recorder);
    return settleOverdueCalls({
      ...recorder,
      calls,
      lifecycle,
      link,
      timings: productionTimings,
      log: this.log,
    });
  }

  /** The time is over for which a silent sandbox that nobody can name holds up unknown rollouts. */
  async endHold(): Promise<void> {
    await inRedis(this.core.redis.socket, async (client) => {
      const nameless = await client.zrange(keys('nameless'), '0', '-1');
      await Promise.all(nameless.map((sandbox) => client.zadd(keys('nameless'), 1, sandbox)));
    });
  }

  #tools() {
    const { state, environment } = this.core;
    const { clock, random, silent, link } = this;
    return {
      store: state.recovery,
      claims: state.claims,
      lifecycle: state.lifecycle,
      witness: this.witness,
      clock,
      random,
      link: {
        identity: (target: SandboxTarget) =>
          silent.has(target.sandbox) ? Promise.reject(noAnswer()) : link.identity(target),
      },
      provider: this.provider,
      log: this.log,
      knownTemplates: () => new Set([environment.template.digest]),
    };
  }

  /** The rollout as fleet state has it. */
  async record(rollout: string) {
    const found = await this.core.state.claims.find(ownerOf(rollout), 1);
    if (found === null) throw new Error(`no record of ${rollout}`);
    return found;
  }

  async counts() {
    const [counts] = await this.core.state.pool.counts([this.core.environment.template.digest]);
    return counts;
  }

  /** The gateway has told the sandbox that these calls are settled. */
  async settled(sandbox: SandboxId, ...calls: readonly string[]): Promise<void> {
    const { boot } = await this.link.identity({ sandbox, address: sandboxAddress('unix:/fake'), boot: null });
    this.link.settled(
      { sandbox, address: sandboxAddress('unix:/fake'), boot: bootId(boot) },
      calls.map(callId),
    );
  }

  /** The connection of the tests and the gateway is back: nothing but `recovering` is answered. */
  async #reconnected(): Promise<void> {
    for (let tries = 0; tries < 500; tries += 1) {
      const back = await this.core.state.recovery.kept().then(
        () => true,
        () => false,
      );
      if (back) return;
      await new Promise((resolve) => {
        setTimeout(resolve, 10);
      });
    }
    throw new Error('Redis did not come back');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.core[Symbol.asyncDispose]();
  }
}

const noAnswer = () => new LinkError({ kind: 'not_sent', detail: 'no answer' });

export async function inRedis(socket: string, work: (redis: Redis) => Promise<unknown>): Promise<void> {
  const redis = new Redis(socket);
  try {
    await work(redis);
  } finally {
    redis.disconnect();
  }
}

/** Whoever sleeps is awake at once, and later: a patience of seconds passes in none. */
function createHurriedClock(): Clock {
  let aheadMs = 0;
  return {
    nowMs: () => systemClock.nowMs() + aheadMs,
    monotonicMs: () => systemClock.monotonicMs() + aheadMs,
    sleep: async (durationMs) => {
      aheadMs += Math.max(0, durationMs);
    },
  };
}

export function ownerOf(rollout: string, attempt = 1): Owner {
  const { tenant, run } = caller;
  return { tenant, run, rollout: rolloutId(rollout), attempt, role: 'policy' };
}

export const stranger = sandboxId('stranger');
