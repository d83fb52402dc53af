import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../clock.ts';
import { NotStarted, type ProcessSpec, spawnAs, type StartedProcess } from './spawn-as.ts';

/** That we, or this machine, can open no further file: no command's failure, and never told as one. */
const ownWants: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE']);
const againMs = 50;
/** Each call that ends gives back what it had open. Who has nothing for so long has leaked it, and will never have. */
const patienceMs = 5_000;

/**
 * Starts a process, if need be when there are files to be opened again. Throws {@link NotStarted}, and an error that is
 * nobody's but ours when that does not come: for a call it ends this sandboxd, so that its sandbox counts as lost.
 */
export async function spawnWhenAble(spec: ProcessSpec): Promise<StartedProcess> {
  const untilMs = monotonicMs() + patienceMs;
  for (;;) {
    try {
      return await spawnAs(spec);
    } catch (error) {
      if (!(error instanceof NotStarted) || !ownWants.has(error.errno)) throw error;
      if (monotonicMs() > untilMs) throw new Error('sandboxd can open no file', { cause: error });
      await sleep(againMs);
    }
  }
}
