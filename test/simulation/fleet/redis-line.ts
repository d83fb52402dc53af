import { unavailable } from '#src/adapters/redis/redis-trouble.ts';
import { type Reply, type RunScript, hasFreshVerdict } from '#src/adapters/redis/script-runner.ts';
import type { ScriptName } from '#src/adapters/redis/script-library.ts';
import type { Chance } from '../engine/chance.ts';
import type { Faults } from '../engine/faults.ts';
import { type SimProcess, worldBeganMs } from '../engine/process.ts';
import type { Scheduler } from '../engine/scheduler.ts';
import type { FleetSnapshot } from './fleet-snapshot.ts';
import type { Mailbox } from './mailbox.ts';
import type { RealScripts } from './real-scripts.ts';

export type RedisHost = {
  readonly scripts: RealScripts;
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly chance: Chance;
  readonly mailbox: Mailbox;
  /** Until then nothing is answered. */
  downUntilMs: number;
  /** All times in which nothing was answered. */
  readonly outages: Outage[];
  /** Another one after every restart. */
  run: string;
  /** When it was replaced by an empty one, or by a replica that had missed the last writes. */
  readonly replacedMs: number[];
  /** When a controller last made this Redis the fleet's: until then it begins no call. */
  adoptedMs: number;
  /** Replicas that receive nothing more, and may take its place. */
  staleReplicas: number;
  /** Replies with a verdict that no replica has yet: told whether one has caught up, or was promoted without it. */
  readonly replicaWaits: ((caughtUp: boolean) => void)[];
  /** Told after each script. */
  afterScript: () => void;
  /** What is older than this its successor has kept; one for each time it was replaced. */
  readonly missedFromMs: number[];
  /** What the last successor held when it took over; null: nothing, or there was none. */
  kept: FleetSnapshot | null;
  /** Sandboxes that did not answer when what was forgotten was written back. */
  readonly unsure: Set<string>;
};

export type Outage = { readonly fromMs: number; readonly untilMs: number };

/** Nobody is answered for so long. */
export function goAway(host: RedisHost, awayMs: number): void {
  const fromMs = host.scheduler.nowMs;
  host.downUntilMs = Math.max(host.downUntilMs, fromMs + awayMs);
  host.outages.push({ fromMs, untilMs: host.downUntilMs });
}

/** Ends all waits for a replica, in the order in which they began. */
export function resolveReplicaWaits(host: RedisHost, caughtUp: boolean): void {
  for (const wakes of host.replicaWaits.splice(0)) wakes(caughtUp);
}

/** Scripts keep their order on the way there, answers theirs on the way back. */
type Line = {
  readonly host: RedisHost;
  readonly process: SimProcess;
  freeAtMs: number;
  answersFreeAtMs: number;
};

/**
 * A process' connection to Redis: scripts run in the order in which they were sent, each after some time on the way.
 * What breaks in between is told as the adapter tells it: the same failure whether the script has run or not.
 */
export function redisLine(host: RedisHost, process: SimProcess): RunScript {
  const line: Line = { host, process, freeAtMs: 0, answersFreeAtMs: 0 };
  return (name, ...args) => new Promise((resolve, reject) => send(line, name, args, { resolve, reject }));
}

/** The reply of the script `adopt`; no other script has this one. */
const adopted = JSON.stringify('adopted');

type Asker = { readonly resolve: (reply: Reply) => void; readonly reject: (thrown: unknown) => void };

function send(line: Line, name: ScriptName, args: readonly string[], asker: Asker): void {
  const { host, process } = line;
  if (!process.alive) return;
  const { scheduler, faults } = host;
  line.freeAtMs = Math.max(line.freeAtMs, scheduler.nowMs + onTheWayMs(host.chance));
  scheduler.after(line.freeAtMs - scheduler.nowMs, process.name, `script ${name}`, async () => {
    if (scheduler.nowMs < host.downUntilMs) return fail(line, asker, 'connection refused');
    if (faults.strikes('redis_cut_before', 'anybody', process.name))
      return fail(line, asker, 'connection reset');
    await runScript(line, name, args, asker);
  });
}

async function runScript(line: Line, name: ScriptName, args: readonly string[], asker: Asker) {
  const { host } = line;
  try {
    const ran = await host.scripts.run(host.run, name, args, worldBeganMs + host.scheduler.nowMs);
    host.mailbox.deliver(ran.published);
    host.afterScript();
    if (ran.reply === adopted) host.adoptedMs = host.scheduler.nowMs;
    const tell = () => answer(line, name, () => asker.resolve(ran.reply), asker);
    if (host.staleReplicas === 0 || !hasFreshVerdict(ran.reply)) return tell();
    host.replicaWaits.push((caughtUp) =>
      caughtUp ? tell() : fail(line, asker, 'another Redis has taken its place'),
    );
  } catch (thrown) {
    answer(line, name, () => asker.reject(thrown), asker);
  }
}

function answer(line: Line, name: string, tell: () => void, asker: Asker): void {
  const { scheduler, faults, chance } = line.host;
  if (faults.strikes('redis_cut_after', 'anybody', line.process.name))
    return fail(line, asker, 'connection reset');
  if (!line.process.alive) return;
  const heard = () => line.process.hears(tell);
  if (faults.strikes('redis_slow', 'nobody'))
    line.answersFreeAtMs = scheduler.nowMs + chance.between(1, 1_500);
  if (line.answersFreeAtMs <= scheduler.nowMs) return heard();
  scheduler.after(line.answersFreeAtMs - scheduler.nowMs, line.process.name, `answer ${name}`, heard);
}

function fail(line: Line, asker: Asker, detail: string): void {
  line.process.hears(() => asker.reject(unavailable(detail)));
}

/** Mostly the same instant, so that many processes meet; sometimes long enough to be overtaken. */
function onTheWayMs(chance: Chance): number {
  return chance.happens(0.9) ? chance.between(0, 2) : chance.between(0, 60);
}
