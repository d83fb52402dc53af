import {
  type Identity,
  maxCallsOfLife,
  mostAnsweredBytes,
  maxOutputBytes,
  protocolVersion,
  type ScreenReply,
} from '#src/protocol/sandboxd/wire.ts';
import { memoryFilesHere } from '#src/platform/memory-account.ts';
import { Binding } from './binding.ts';
import { Journal } from './calls/journal.ts';
import { Outputs, reservedBytes } from './calls/answer.ts';
import { BackgroundTime, momentNow } from './calls/background-time.ts';
import { MemoryBetweenCalls } from './calls/memory-watch.ts';
import { NodeBetweenCalls, nodeLook } from './calls/node-watch.ts';
import { SharedLimits } from './calls/shared-limits.ts';
import { callStarter } from './calls/start-call.ts';
import { monotonicMs } from './clock.ts';
import { starvationOf } from './command/starvation.ts';
import type { Config } from './config.ts';
import { Turns } from './grading/turns.ts';
import { Leaders } from './processes/leaders.ts';
import { hasLife, sweepAll } from './processes/sweep.ts';
import { Uploads } from './uploads.ts';
import { isolationOf } from './users.ts';

/** Trainers repeat their last calls, of which this many may have been made at once. */
const lastKept = 16;

const journalLimits = {
  /** 64 answers of the usual 64 KiB a stream, beside the latest answers, however large they are. */
  bytes: 8 * 1024 * 1024 + lastKept * reservedBytes({ keepBytes: mostAnsweredBytes }),
  lastKept,
  /** A rollout's parallel calls are a handful; more is a caller gone wrong. */
  waiting: 256,
  /** Ids and digests of that many cost about 2 MB; a rollout's budget is some dozens of calls. */
  calls: maxCallsOfLife,
};

/** Two commands at a time, each with two streams; taken only by what they print. */
const outputRoomBytes = 2 * 2 * maxOutputBytes;

/** All that one life of sandboxd knows; made once by `main.ts`. */
export type Daemon = {
  readonly config: Config;
  /** The image's environment together with our own settings; see `imageEnvironment`. */
  readonly env: NodeJS.ProcessEnv;
  /** Random, made at start: another one means that everything before is gone. */
  readonly boot: string;
  readonly binding: Binding;
  readonly journal: Journal;
  readonly outputs: Outputs;
  readonly uploads: Uploads;
  readonly done: Done;
  readonly leaders: Leaders;
  readonly turns: Turns;
  readonly background: BackgroundTime;
  /** Folders in which a policy's changes were put for a grader. */
  readonly changed: Set<string>;
  readonly betweenCalls: NodeBetweenCalls;
  readonly memoryBetweenCalls: MemoryBetweenCalls;
  /** Looks of operators at terminals that are under way. */
  readonly screens: Map<number | null, Promise<ScreenReply>>;
} & Around;

/** What a daemon does beyond its own state. */
export type Around = {
  /** Ends this process; called when the binding's time has passed. */
  readonly end: (exitCode: number) => void;
  /** Plays a first call through, in advance; see `rehearsal.ts`. */
  readonly rehearse: (daemon: Daemon) => Promise<void>;
};

/** What this life has been through beside its calls. */
export type Done = { probed: boolean; filesPut: number };

export function createDaemon(config: Config, env: NodeJS.ProcessEnv, boot: string, around: Around): Daemon {
  const leaders = new Leaders();
  const turns = new Turns();
  const outputs = new Outputs(outputRoomBytes);
  const background = new BackgroundTime(() => momentNow(config.cgroupCpu));
  const changed = new Set<string>();
  const binding = new Binding();
  const lifeLeftMs = () => binding.expiresInMs(monotonicMs()) ?? Infinity;
  const starvation = starvationOf(config);
  const grounds = { config, env, leaders, starvation, changed };
  const limits = new SharedLimits(config);
  const lookAtNode = nodeLook(config, limits);
  const betweenCalls = new NodeBetweenCalls(lookAtNode, () => hasLife(config, leaders, limits.pid));
  const memoryBetweenCalls = new MemoryBetweenCalls(memoryFilesHere(config.cgroupEvents));
  const starter = callStarter(
    { ...grounds, lifeLeftMs, lookAtNode, betweenCalls, memoryBetweenCalls },
    turns,
    outputs,
    background,
  );
  const journal = new Journal(journalLimits, starter, monotonicMs);
  const done = { probed: false, filesPut: 0 };
  const uploads = new Uploads(maxCallsOfLife);
  return {
    config,
    env,
    boot,
    binding,
    journal,
    outputs,
    uploads,
    done,
    leaders,
    turns,
    background,
    changed,
    betweenCalls,
    memoryBetweenCalls,
    screens: new Map(),
    ...around,
  };
}

export function identityOf({ config, boot, binding, journal, done }: Daemon): Identity {
  return {
    sandbox: config.sandbox,
    boot,
    protocol: protocolVersion,
    state: binding.state,
    isolation: isolationOf(config),
    owner: binding.owner,
    expiresInMs: binding.expiresInMs(monotonicMs()),
    label: binding.label,
    ...done,
    keepsStdin: true,
    calls: journal.list(),
  };
}

/** A probe has succeeded, and with that a start is over. Who then stands idle, since nobody waits for it, rehearses. */
export function lookedOver(daemon: Daemon): void {
  if (daemon.done.probed) return;
  daemon.done.probed = true;
  setTimeout(() => {
    if (daemon.binding.state === 'unbound') void daemon.rehearse(daemon);
  }, daemon.config.rehearseAfterMs).unref();
}

/** Nobody has to remove us: when the binding's time has passed, everything here ends. */
export function endAtExpiry(daemon: Daemon, expiresInMs: number): void {
  setTimeout(() => {
    daemon.binding.expire();
    daemon.journal.abandon();
    // The exit code 0 tells an expiry from a crash.
    void sweepAll(daemon.config, daemon.leaders).finally(() => daemon.end(0));
  }, expiresInMs);
}
