import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { NotStarted, refusalAt, spawnAs } from '../command/spawn-as.ts';
import type { Config } from '../config.ts';
import { processUser, type ProcessUser } from '../users.ts';
import type { Leaders } from './leaders.ts';
import {
  hasProcessOf,
  lineageOf,
  type ProcessRow,
  readProcess,
  readProcessTable,
  readUid,
  treeOf,
} from './process-table.ts';
import { signalProcess, stopAndKill } from './kill-tree.ts';

/*
 * Killing all that commands left running, whatever they did to stay. Before a score is read nothing of the policy's and
 * nothing of the grader's may live, so "all" is meant: a survivor is told, and then there is no score.
 *
 *   the sandbox has a pid namespace of its own     kill(-1): one signal to everybody but pid 1 and us. It needs no list,
 *                                                  no fork and no thread, so a fork bomb at a full pids limit ends too.
 *   a pod's containers share one                   -1 would mean the others as well: rounds of SIGSTOP and SIGKILL by
 *                                                  user id, which make room at a full pids limit; then kill(-1) by a
 *                                                  process of that user's own, which reaches nobody else and which no
 *                                                  fork passes: what forks and ends faster than anybody looks is in no list
 *   commands have our own id as well               the same, by what we have started and what descends from it
 */

export type Swept = { readonly killed: number; readonly survivors: number };

/** Killed processes vanish within milliseconds, hundreds on a busy machine later; one that never does is reported. */
const vanishWithinMs = 5_000;
const lookEveryMs = 10;

/** Kills every process of every command, the policy's and the grader's, and who answers queries, if anybody ever did. */
export async function sweepAll(config: Config, leaders: Leaders): Promise<Swept> {
  if (isAlone(config)) return sweepNamespace();
  if (config.userMode !== 'two-user') return sweep(() => ofLeaders(leaders.all()));
  const roles = [
    'policy',
    'grader',
    ...(leaders.led(config.queryUid) ? (['queries'] as const) : []),
  ] as const;
  let swept: Swept = { killed: 0, survivors: 0 };
  for (const role of roles) {
    const { killed, survivors } = await sweepUser(processUser(config, role));
    swept = { killed: swept.killed + killed, survivors: swept.survivors + survivors };
  }
  return swept;
}

/** Whether any process of a command of the policy's lives, or one that works for it. `ours`: a process of sandboxd's own. */
export function hasLife(config: Config, leaders: Leaders, ours: number | null): boolean {
  if (config.userMode !== 'two-user') return ofLeaders(leaders.all()).some(({ pid }) => pid !== ours);
  return hasProcessOf(config.policyUid);
}

/** Kills every process of this user, and nobody else's: a grader may go on while the policy's end. */
export async function sweepUser(user: ProcessUser): Promise<Swept> {
  const ofUser = () => readProcessTable().filter((row) => readUid(row.pid) === user.ids?.uid);
  const first = await sweep(ofUser);
  if (first.survivors > 0) return first;
  const isOver = await killUntilOver(user);
  const { killed, survivors } = await sweep(ofUser);
  // Who kept every killer from its end lives, whether a look finds it or not.
  return { killed: first.killed + killed, survivors: isOver ? survivors : Math.max(1, survivors) };
}

/** One that the user's own processes kill before it has killed them is followed by another. */
const mostKillers = 20;
/** So often is a killer looked at: one that the user's processes have stopped would never end. A slow one is left alone. */
const stoppedLookMs = 1_000;

async function killUntilOver(user: ProcessUser): Promise<boolean> {
  for (let tries = 0; tries < mostKillers; tries += 1) {
    if (await killAsUser(user)) return true;
    await sleep(lookEveryMs);
  }
  return false;
}

/** True when it has come to its end, or there is no shell that could. */
async function killAsUser(user: ProcessUser): Promise<boolean> {
  const argv = ['/bin/sh', '-c', 'kill -9 -1; exit 0'];
  try {
    const started = await spawnAs({ argv, cwd: '/', env: {}, user, stdin: 'nothing', isInternal: true });
    const looking = setInterval(() => killIfStopped(started.pid), stoppedLookMs);
    const exited = once(started.child, 'exit').finally(() => clearInterval(looking));
    const [exitCode] = (await exited) as [number | null];
    const refusal = await refusalAt(exitCode, started);
    return exitCode === 0 || refusal?.errno === 'ENOENT';
  } catch (error) {
    if (error instanceof NotStarted) return false;
    throw error;
  }
}

function killIfStopped(pid: number): void {
  const row = readProcess(pid);
  if (row?.state === 'T') signalProcess(row, 'SIGKILL');
}

/** Bubblewrap's init is pid 1 and starts us as 2. Asked twice, because a mistake here would end a whole machine. */
const isAlone = ({ ownNamespace }: Config) => ownNamespace && process.pid <= 2;

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
