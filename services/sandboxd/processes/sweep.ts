import type { QuiesceReply } from '../../../src/protocol/sandboxd/wire.ts';
import { readProcessTable, readUid } from './process-table.ts';
import type { ProcessRow } from './process-table.ts';
import { stopAndKill } from './stop-and-kill.ts';
import { lineageOf, treeOf } from './tree.ts';

/** Kills every process of a user. */
export function sweepUser(uid: number): Promise<QuiesceReply> {
  return sweep(() => readProcessTable().filter((row) => readUid(row.pid) === uid));
}

/**
 * Where commands share sandboxd's own id, that id cannot tell them from us. Alone in a pid namespace, everything but our
 * own line of ancestors is theirs. Elsewhere (a namespace shared with a pod's other containers, or no namespace at all)
 * only what our commands lead and what descends from us may be touched.
 */
export function sweepOwn(leaders: readonly number[]): Promise<QuiesceReply> {
  return sweep(() => {
    const table = readProcessTable();
    const lineage = lineageOf(process.pid, table);
    return candidates(table, leaders).filter((row) => !lineage.has(row.pid));
  });
}

function candidates(table: readonly ProcessRow[], leaders: readonly number[]): readonly ProcessRow[] {
  if (isAloneInNamespace()) return table;
  const below = treeOf(process.pid, table);
  // Our own session may be that of whoever started us: only what descends from us counts.
  const ours = below.filter((row) => lineageOf(row.pid, table).has(process.pid));
  return [...new Set([...ours, ...leaders.flatMap((leader) => treeOf(leader, table))])];
}

/** Bubblewrap's init is pid 1 and starts us as 2; a container's first process is 1. */
function isAloneInNamespace(): boolean {
  return process.pid <= 2;
}

async function sweep(find: () => readonly ProcessRow[]): Promise<QuiesceReply> {
  const { killed, survivors } = await stopAndKill(find);
  return { killed, survivors: survivors.length };
}
