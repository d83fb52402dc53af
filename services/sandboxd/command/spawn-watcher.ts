/**
 * The thread that watches spawns while sandboxd's own stands still in one; why, says `spawn-watch.ts`. It sleeps while there
 * is none, and kills a child that was stopped before its `exec`. One that is merely slow, on a busy machine, is not touched.
 */
import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { readProcessTable } from '../processes/process-table.ts';

/** A spawn takes a millisecond. Whoever stopped this one waits; nobody else should notice. */
const patienceMs = 1_000;

const commandLine = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'latin1');

/** Until its `exec` a child has our own command line: no command that runs already is taken for it. */
function isStoppedInSpawn(pid: number): boolean {
  return commandLine(pid) === commandLine(process.pid);
}

function killStopped(): void {
  try {
    const stopped = readProcessTable().filter(({ parent, state }) => parent === process.pid && state === 'T');
    for (const { pid } of stopped) if (isStoppedInSpawn(pid)) process.kill(pid, 'SIGKILL');
  } catch {
    // It went on or ended meanwhile, or no file can be opened now: there is another look.
  }
}

function watch(underWay: Int32Array): never {
  for (;;) {
    Atomics.wait(underWay, 0, 0);
    const spawn = Atomics.load(underWay, 0);
    if (spawn !== 0 && Atomics.wait(underWay, 0, spawn, patienceMs) === 'timed-out') killStopped();
  }
}

parentPort?.postMessage('watching');
watch(workerData as Int32Array);
