import { once } from 'node:events';
import { mayLive } from '../processes/process-table.ts';
import type { ProcessUser } from '../users.ts';

/*
 * Between a child's change of user and its `exec` we stand still, all of us: Node waits for the `exec` in its one thread. In
 * that moment the child is the policy's to signal. It can be killed, which only ends the wait; but a policy that stops
 * everything it can, without end, from the background would stop the child there, and us for ever.
 *
 * So who starts a program as the policy, while something of the policy may be alive, does it under the eyes of a thread of
 * its own (`spawn-watcher.ts`) that kills a child stopped there. The thread costs 10 MB and 40 ms and is
 * started when it is first needed: a rollout whose commands leave nothing running never has it.
 */

/** Looked up when it is needed: most starts never do. */
function watcherFile(): URL {
  const here = import.meta.url;
  return new URL(here.endsWith('.ts') ? './spawn-watcher.ts' : './spawn-watcher.cjs', here);
}

/**
 * A list of some hundred processes is all that it holds. A bound and no allotment: with a few MiB Node does not report that
 * its thread cannot start, but ends the whole process; from the sources it needs 8.
 */
const watcherLimits = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 };

/** What the watcher reads: the number of the spawn that is under way, or 0. */
let underWay: Int32Array<SharedArrayBuffer> | null = null;
let starting: Promise<void> | null = null;
let spawns = 0;

/** Whether a child started now, in this very turn of the loop, could be stopped with nobody to see it. */
export function isUnwatched({ name, ids }: ProcessUser): boolean {
  return underWay === null && name === 'policy' && ids !== null && mayLive(ids.uid);
}

/** Resolves when spawns are watched. Rejects where there is no room for another thread: the policy took it. */
export function startWatch(): Promise<void> {
  starting ??= start().finally(() => (starting = null));
  return starting;
}

/** Forks under the eyes of the watcher, if there is one. */
export function watched<Child>(fork: () => Child): Child {
  if (underWay === null) return fork();
  const word = underWay;
  // Never 0, and never the number of the spawn before.
  spawns = (spawns % 1_000_000) + 1;
  tell(word, spawns);
  try {
    return fork();
  } finally {
    tell(word, 0);
  }
}

async function start(): Promise<void> {
  const { Worker } = await import('node:worker_threads');
  const word = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const watcher = new Worker(watcherFile(), {
    name: 'spawn-watcher',
    workerData: word,
    // Not the image's `NODE_OPTIONS`.
    env: {},
    resourceLimits: watcherLimits,
    trackUnmanagedFds: false,
  });
  watcher.unref();
  watcher.on('error', () => {}); // Told by its exit; the next spawn starts another.
  watcher.once('exit', () => {
    if (underWay === word) underWay = null;
  });
  await Promise.race([once(watcher, 'message'), exitOf(watcher)]);
  underWay = word;
}

async function exitOf(watcher: NodeJS.EventEmitter): Promise<never> {
  await once(watcher, 'exit');
  throw new Error('the thread that watches spawns has ended');
}

function tell(word: Int32Array<SharedArrayBuffer>, spawn: number): void {
  Atomics.store(word, 0, spawn);
  Atomics.notify(word, 0);
}
