import { type ProcessRow, readProcess } from './process-table.ts';

/** Signals exactly this process: not a later one that got its pid. Gone or not ours to signal is no error. */
export function signalProcess(row: ProcessRow, signal: NodeJS.Signals): void {
  if (readProcess(row.pid)?.startTicks === row.startTicks) send(row.pid, signal);
}

/** Signals a whole process group in one step, before any member can fork out of the way. */
export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  send(-leader, signal);
}

function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch {
    // ESRCH: it ended meanwhile. EPERM: it changed its id; it is counted as a survivor by who looks afterwards.
  }
}
