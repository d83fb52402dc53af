import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.ts';
import type { Leaders } from './leaders.ts';
import { readProcessTable, readUid } from './process-table.ts';
import type { ProcessRow } from './process-table.ts';
import { stopAndKill } from './stop-and-kill.ts';
import { lineageOf, treeOf } from './tree.ts';

/*
 * Killing all that commands left running, whatever they did to stay. Before a score is read nothing of the policy's and
 * nothing of the grader's may live, so "all" is meant: a survivor is told, and then there is no score.
 *
 *   the sandbox has a pid namespace of its own     kill(-1): one signal to everybody but pid 1 and us. It needs no list,
 *                                                  no fork and no thread, so a fork bomb at a full pids limit ends too.
 *   a pod's containers share one                   -1 would mean the others as well: rounds of SIGSTOP and SIGKILL by
 *                                                  user id, until a look finds nobody
 *   commands have our own id as well               the same, by what we have started and what descends from it
 */

export type Swept = { readonly killed: number; readonly survivors: number };

/** Killed processes vanish within milliseconds, hundreds on a busy machine later; one that never does is reported. */
const vanishWithinMs = 5_000;
const lookEveryMs = 10;

type Whose = Pick<Config, 'userMode' | 'policyUid' | 'graderUid' | 'ownNamespace'>;

/** Kills every process of every command, the policy's and the grader's. */
export function sweepAll(config: Whose, leaders: Leaders): Promise<Swept> {
  if (isAlone(config)) return sweepNamespace();
  if (config.userMode === 'two-user') return sweepUsers([config.policyUid, config.graderUid]);
  return sweep(() => ofLeaders(leaders.all()));
}

/** Kills every process of these users, and nobody else's: a grader may go on while the policy's end. */
export function sweepUsers(uids: readonly number[]): Promise<Swept> {
  return sweep(() => readProcessTable().filter((row) => uids.includes(readUid(row.pid) ?? -1)));
}

/** Bubblewrap's init is pid 1 and starts us as 2. Asked twice, because a mistake here would end a whole machine. */
const isAlone = ({ ownNamespace }: Whose) => ownNamespace && process.pid <= 2;

async function sweepNamespace(): Promise<Swept> {
  const killed = ofOthers(readProcessTable()).length;
  for (let waitedMs = 0; killAllOthers(); waitedMs += lookEveryMs) {
    if (waitedMs >= vanishWithinMs) return { killed, survivors: ofOthers(readProcessTable()).length };
    await sleep(lookEveryMs);
  }
  return { killed, survivors: 0 };
}

/** False when there was nobody left. */
function killAllOthers(): boolean {
  try {
    return process.kill(-1, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/**
 * Where commands share sandboxd's own id, that id cannot tell them from us. Only what our commands lead and what descends
 * from us may be touched: our own session may be that of whoever started us.
 */
function ofLeaders(leaders: readonly number[]): readonly ProcessRow[] {
  const table = readProcessTable();
  const lineage = lineageOf(process.pid, table);
  const below = treeOf(process.pid, table).filter((row) => lineageOf(row.pid, table).has(process.pid));
  const led = leaders.flatMap((leader) => treeOf(leader, table));
  return [...new Set([...below, ...led])].filter((row) => !lineage.has(row.pid));
}

/** All but our own line of ancestors. */
function ofOthers(table: readonly ProcessRow[]): readonly ProcessRow[] {
  const lineage = lineageOf(process.pid, table);
  return table.filter((row) => !lineage.has(row.pid));
}

async function sweep(find: () => readonly ProcessRow[]): Promise<Swept> {
  const { killed, survivors } = await stopAndKill(find, vanishWithinMs);
  return { killed, survivors: survivors.length };
}
