import type { Redis } from 'ioredis';
import { createHash } from 'node:crypto';
import type { FleetState } from '#src/adapters/redis/fleet-state.ts';
import { callId, environmentVersion, templateDigest } from '#src/model/ids.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import { atMost, type Benchmark } from './figures.ts';
import { repeatsAreOver } from '#test/support/repeats-are-over.ts';
import { playedClaim, playedFleet, startPlayed, withPlayedFleet } from './played-fleet.ts';

/** What its clients and tables take is shared by so many. */
const rollouts = 1_280;
/** As many calls as the load model has, one of its median outputs each. */
const callsEach = 39;
const outputBytes = 1_000;
/** Copies of a task in a step, which have one row. */
const groupOf = 32;
const row = (group: number) => JSON.stringify({ id: `task-${group}`, text: 'x'.repeat(20_000) });

const hex = (text: string) => createHash('sha256').update(text).digest('hex');
const version = environmentVersion(hex('version'));
const template = templateDigest(hex('template'));
const hourMs = 3_600_000;

/**
 * What a rollout takes of Redis' memory: while it is open, with its calls and its share of the dataset row; for
 * 40 minutes after its end; and its line after that. Ids are as long as a platform's.
 */
export const recordBytes: Benchmark = {
  name: 'record-bytes',
  run: (say) =>
    withPlayedFleet(say, async ({ state, plain }) => {
      await open(state, 0);
      await end(state, await play(state, 0));
      await repeatsAreOver(plain);
      const emptyBytes = await used(plain);
      const each = async (what: string) => {
        const bytes = ((await used(plain)) - emptyBytes) / rollouts;
        say(`a rollout ${what}: ${Math.round(bytes)} B`);
        return bytes;
      };
      for (let index = 1; index <= rollouts; index += 1) await open(state, index);
      await each('with a sandbox and no call');
      const keys = [];
      for (let index = 1; index <= rollouts; index += 1) keys.push(await play(state, index));
      const openBytes = await each(`that is open, after ${callsEach} calls`);
      const beforeUs = await scriptsUs(plain);
      for (const key of keys) await end(state, key);
      say(
        `its grade and its end took Redis ${Math.round(((await scriptsUs(plain)) - beforeUs) / rollouts)} µs`,
      );
      await forgetSandboxes(state);
      const repeatableBytes = await each('until 40 minutes after its end');
      await repeatsAreOver(plain);
      const lineBytes = await each('after that: its line, and its place in its run and group');
      const lines = await Promise.all(keys.map((key) => plain.memory('USAGE', lineOf(key))));
      say(`its line alone: ${Math.max(...lines.map(Number))} B`);
      await plain.unlink(keys.map(lineOf));
      await each('when its line has ended, too');
      const unit = 'B';
      return [
        atMost(
          { what: 'a rollout that is over ÷ an open one', unit, value: lineBytes, floor: openBytes },
          0.12,
        ),
        atMost(
          { what: 'until 40 minutes after its end ÷ open', unit, value: repeatableBytes, floor: openBytes },
          1.05,
        ),
      ];
    }),
};

const lineOf = (key: RolloutRecord['key']) => `corral:{${playedFleet}}:rollout:${key}`;

async function used(plain: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await plain.info('memory'))?.[1]);
}

/** Time of Redis' thread in scripts so far. */
async function scriptsUs(plain: Redis): Promise<number> {
  return Number(/cmdstat_fcall:calls=\d+,usec=(\d+)/.exec(await plain.info('commandstats'))?.[1] ?? 0);
}

const nameOf = (index: number) => `trace_${hex(`rollout ${index}`).slice(0, 32)}`;

function claimOf(index: number) {
  const item = row(Math.floor(index / groupOf));
  return playedClaim(nameOf(index), 'grpo-code-7b', { version, template, item });
}

async function open(state: FleetState, index: number): Promise<void> {
  await startPlayed(state, `sandbox-${index}`, [{ template, minReady: 1_000_000, max: 1_000_000 }]);
  const reply = await state.claims.claim(claimOf(index));
  if (reply.kind !== 'held') throw new Error(`no sandbox for rollout ${index}: ${reply.kind}`);
}

/** Its calls, and the turn of its grader. */
async function play(state: FleetState, index: number): Promise<RolloutRecord['key']> {
  const reply = await state.claims.claim(claimOf(index));
  if (reply.rollout === null) throw new Error(`rollout ${index} is not there`);
  const { key, generation, epoch } = reply.rollout;
  if (epoch === null) throw new Error(`rollout ${index} has no sandbox`);
  for (let call = 0; call < callsEach; call += 1) {
    const id = callId(`call_${hex(`${index} ${call}`).slice(0, 24)}`);
    const ofCall = { key, call: id, digest: hex(id), tool: 'shell', idleMs: hourMs };
    await state.calls.admit({
      ...ofCall,
      sender: 'try-1',
      timeoutMs: 60_000,
      budget: { toolCalls: 1_000, rolloutMs: hourMs },
      activation: { generation, boot: epoch.boot },
    });
    await state.calls.settle({
      ...ofCall,
      outcome: 'completed',
      code: null,
      admitted: 'yes',
      exitCode: 0,
      durationMs: 100,
      waitedMs: 0,
      outputBytes,
      isAnswered: true,
      taint: null,
    });
  }
  return key;
}

async function end(state: FleetState, key: RolloutRecord['key']): Promise<void> {
  const ask = { by: 'bench', gradeMs: hourMs, inSandbox: false, seenIn: null };
  const begun = await state.grades.begin(key, ask);
  if (begun.kind !== 'run') throw new Error(`${key} is not graded: ${begun.kind}`);
  await state.grades.score(key, begun.turn, 0.5, { matched: 3, expected: 6 });
}

async function forgetSandboxes(state: FleetState): Promise<void> {
  for (const sandbox of await state.pool.draining(rollouts + 1)) await state.pool.forget(sandbox);
}
