import type { Redis } from 'ioredis';
import { KnownSandboxes } from '../src/pool/known-sandboxes.ts';
import type { FleetState } from '../src/adapters/redis/fleet-state.ts';
import { callId, templateDigest } from '../src/model/ids.ts';
import type { ClaimRequest } from '../src/ports/fleet/claims.ts';
import type { PoolTarget } from '../src/ports/fleet/pool.ts';
import type { RolloutRecord } from '../src/ports/fleet/records.ts';
import { atMost, median } from './figures.ts';
import type { Benchmark, Figure } from './figures.ts';
import { endlessPool, playedClaim, startPlayed, withPlayedFleet } from './played-fleet.ts';
import type { PlayedFleet } from './played-fleet.ts';

const fleets = [100, 1_000, 5_000] as const;
const pools = [10, 300, 3_000] as const;
/** Of what is measured; the median of as many turns, each of as many units. */
const turns = 7;
const units = 50;
/** A row as coding tasks have it. */
const row = JSON.stringify({ id: 'task', text: 'x'.repeat(20_000) });
const hourMs = 3_600_000;

/**
 * What a first call (claimed, admitted, settled), a tool call, a waiter and a launch cost Redis' one thread, while few and
 * while many others are there. Sandboxes are played: nothing but fleet state is asked. What its client burns is told beside.
 */
export const costCurve: Benchmark = {
  name: 'cost-curve',
  run: async (say) => {
    const curves = new Map<string, Cost[]>();
    const note = (what: string, cost: Cost) => curves.set(what, [...(curves.get(what) ?? []), cost]);
    for (const open of fleets) {
      say(`${open} open rollouts`);
      await withPlayedFleet(say, async (played) => {
        const fleet = new MeasuredFleet(played);
        await fleet.open(open);
        note('first call', await fleet.cost(() => fleet.firstCalls()));
        note('tool call', await fleet.cost((turn) => fleet.toolCalls(turn)));
        note('second in which a controller knows all sandboxes', await fleet.cost(() => fleet.known()));
      });
      await withPlayedFleet(say, async (played) => {
        const fleet = new MeasuredFleet(played);
        const waiters = await fleet.wait(open);
        note('waiting rollout and second', await fleet.cost(() => fleet.renew(waiters), waiters.length));
      });
    }
    for (const templates of pools) {
      say(`${templates} templates`);
      await withPlayedFleet(say, async (played) => {
        const fleet = new MeasuredFleet(played);
        const targets = await fleet.fullPools(templates);
        note('launch, by templates', await fleet.cost((turn) => fleet.launches(turn, targets)));
      });
    }
    return [...curves].map(([what, costs]) => figureOf(what, costs, say));
  },
};

/** Microseconds of one unit. */
type Cost = { readonly redisUs: number; readonly clientUs: number };

/** With most there against with fewest: flat is 1. */
function figureOf(name: string, costs: readonly Cost[], say: (line: string) => void): Figure {
  const sizes = name.includes('templates') ? pools : fleets;
  const told = costs.map(
    ({ redisUs, clientUs }, index) =>
      `${sizes[index]}: ${redisUs.toFixed(0)} µs of Redis, ${clientUs.toFixed(0)} µs of its client`,
  );
  say(`${name}: ${told.join('; ')}`);
  const [first, last] = [costs[0]?.redisUs ?? Number.NaN, costs.at(-1)?.redisUs ?? Number.NaN];
  const what = `Redis for a ${name}, with ${sizes.at(-1)} there ÷ with ${sizes[0]}`;
  return atMost({ what, unit: 'µs', value: last, floor: first }, 1.5);
}

class MeasuredFleet {
  readonly #state: FleetState;
  readonly #plain: Redis;
  readonly #open: RolloutRecord[] = [];
  #named = 0;

  constructor({ state, plain }: PlayedFleet) {
    this.#state = state;
    this.#plain = plain;
  }

  /** Median over the turns of what one unit costs. What a turn needs is made before it counts. */
  async cost(prepared: (turn: number) => Promise<() => Promise<unknown>>, each = units): Promise<Cost> {
    const costs: Cost[] = [];
    for (let turn = 0; turn < turns; turn += 1) {
      const work = await prepared(turn);
      const [beforeUs, client] = [await this.#scriptsUs(), process.cpuUsage()];
      await work();
      const { user, system } = process.cpuUsage(client);
      costs.push({
        redisUs: ((await this.#scriptsUs()) - beforeUs) / each,
        clientUs: (user + system) / each,
      });
    }
    return {
      redisUs: median(costs.map(({ redisUs }) => redisUs)),
      clientUs: median(costs.map(({ clientUs }) => clientUs)),
    };
  }

  /** Rollouts with a sandbox of their own and one call behind them, in runs of five hundred. */
  async open(count: number): Promise<void> {
    await this.#supply(count);
    for (const name of this.#names(count)) this.#open.push(await this.#firstCall(name));
  }

  async firstCalls(): Promise<() => Promise<unknown>> {
    await this.#supply(units);
    const names = this.#names(units);
    return () => Promise.all(names.map((name) => this.#firstCall(name)));
  }

  async toolCalls(turn: number): Promise<() => Promise<unknown>> {
    const rollouts = this.#open.slice(0, units);
    return () => Promise.all(rollouts.map((rollout) => this.#call(rollout, `turn-${turn}`)));
  }

  /** A controller's seconds while nothing happens: it has read all sandboxes before. */
  async known(): Promise<() => Promise<unknown>> {
    const known = new KnownSandboxes(this.#state.pool);
    await known.read();
    return async () => {
      for (let unit = 0; unit < units; unit += 1) await known.read();
    };
  }

  /** In line, each with a row of the same group. */
  async wait(count: number): Promise<readonly RolloutRecord['key'][]> {
    const replies = await Promise.all(
      this.#names(count).map((name) => this.#state.claims.claim(claimOf(name))),
    );
    return replies.flatMap(({ rollout }) => (rollout === null ? [] : [rollout.key]));
  }

  async renew(waiters: readonly RolloutRecord['key'][]): Promise<() => Promise<unknown>> {
    return () => this.#state.claims.renew(waiters);
  }

  /** Each has the one sandbox that it is to have. */
  async fullPools(count: number): Promise<readonly PoolTarget[]> {
    const targets = Array.from({ length: count }, (_, index) => ({
      template: templateDigest(`template-${index}`),
      minReady: 1,
      max: 100,
    }));
    for (let started = 0; started < count; started += 1) await this.#start(targets);
    return targets;
  }

  /** One rollout after another takes the sandbox of a pool, which is then filled as a controller does. */
  async launches(turn: number, targets: readonly PoolTarget[]): Promise<() => Promise<unknown>> {
    return async () => {
      for (let unit = 0; unit < units; unit += 1) {
        const target = targets[(turn * units + unit) % targets.length];
        if (target === undefined) throw new Error('no templates');
        const [name = ''] = this.#names(1);
        await this.#state.claims.claim({ ...claimOf(name), template: target.template });
        const { templates } = await this.#state.pool.demand();
        const wanted = targets.filter((one) => templates.has(one.template));
        await this.#state.pool.counts(wanted.map((one) => one.template));
        await this.#start(targets);
      }
    };
  }

  #names(count: number): readonly string[] {
    return Array.from({ length: count }, () => `r${(this.#named += 1)}`);
  }

  async #supply(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) await this.#start(endlessPool);
  }

  async #start(targets: readonly PoolTarget[]): Promise<void> {
    const [name = ''] = this.#names(1);
    await startPlayed(this.#state, name, targets);
  }

  async #firstCall(name: string): Promise<RolloutRecord> {
    const reply = await this.#state.claims.claim(claimOf(name));
    if (reply.kind !== 'held') throw new Error(`${name} got no sandbox: ${reply.kind}`);
    await this.#call(reply.rollout, 'first');
    return reply.rollout;
  }

  async #call({ key, generation, epoch }: RolloutRecord, call: string): Promise<void> {
    if (epoch === null) throw new Error(`${key} has no sandbox`);
    const ofCall = { key, call: callId(call), digest: 'd'.repeat(64), tool: 'shell', idleMs: hourMs };
    const admitted = await this.#state.calls.admit({
      ...ofCall,
      timeoutMs: 60_000,
      budget: { toolCalls: 1_000, rolloutMs: hourMs },
      activation: { generation, boot: epoch.boot },
    });
    if (admitted.kind !== 'dispatch') throw new Error(`not dispatched: ${admitted.kind}`);
    await this.#state.calls.settle({
      ...ofCall,
      outcome: 'completed',
      code: null,
      admitted: 'yes',
      exitCode: 0,
      durationMs: 100,
      waitedMs: 0,
      outputBytes: 1_000,
      answer: JSON.stringify({ output: 'y'.repeat(1_000) }),
      taint: null,
      broken: null,
    });
  }

  /** Time of Redis' thread in scripts so far. */
  async #scriptsUs(): Promise<number> {
    const told = await this.#plain.info('commandstats');
    return Number(/cmdstat_fcall:calls=\d+,usec=(\d+)/.exec(told)?.[1] ?? 0);
  }
}

/** Rollouts of one group, which have the same row; five hundred of them are a run. */
const claimOf = (name: string): ClaimRequest =>
  playedClaim(name, `run-${Math.floor(Number(name.slice(1)) / 500)}`, { item: row });
