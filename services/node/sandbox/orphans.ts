import type { Log } from '#src/ports/log.ts';
import { sandboxId } from '#src/model/ids.ts';
import type { Groups } from '../cgroups/groups.ts';
import type { Feed } from './feed.ts';
import { killMembers } from './kill-members.ts';
import { killProcess } from './process-identity.ts';
import type { Records } from './record.ts';

export type OrphanTools = {
  readonly records: Records;
  readonly groups: Groups;
  readonly feed: Feed;
  readonly log: Log;
};

/**
 * Removes what an earlier life of this node left: processes by their record (pid and start time) and by their group,
 * groups, folders. Their ends are told as `node_lost`, to watchers that were cut off. Returns how many there were.
 */
export async function removeOrphans(tools: OrphanTools): Promise<number> {
  const names = new Set([...(await tools.records.list()), ...(await tools.groups.list())]);
  for (const name of names) {
    await removeOrphan(name, tools);
    tools.feed.tell({
      kind: 'gone',
      sandbox: sandboxId(name),
      cause: 'node_lost',
      evidence: { observed: 'left by an earlier life of node' },
    });
  }
  if (names.size > 0) tools.log.warn('orphans removed', { count: names.size });
  return names.size;
}

async function removeOrphan(name: string, { records, groups }: OrphanTools): Promise<void> {
  const record = await records.read(name);
  for (const process of [record?.init ?? null, record?.outer ?? null]) {
    if (process !== null) killProcess(process);
  }
  const group = groups.open(name);
  killMembers(group);
  await group.remove();
  await records.remove(name);
}
