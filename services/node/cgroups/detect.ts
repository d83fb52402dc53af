import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type GroupLayout, noGroups } from './layout.ts';
import { v1Layout } from './v1.ts';
import { v2Layout } from './v2.ts';

/**
 * Which control groups this process may make. On v2 the root of the tree where we may write it, else our own group;
 * on v1 (and on hybrid hosts, whose controllers are in v1) the mounted controllers.
 */
export async function detectLayout(
  root = '/sys/fs/cgroup',
  self = '/proc/self/cgroup',
): Promise<GroupLayout> {
  const own = await readFile(self, 'utf8').catch(() => '');
  const path = unifiedPath(own);
  for (const base of path === null ? [] : [root, join(root, path)]) {
    const layout = await v2Layout(base);
    if (layout !== noGroups) return layout;
  }
  return v1Layout(root);
}

/** Our group in the v2 tree, from the line `0::/path` of /proc/self/cgroup; null without one. */
export function unifiedPath(selfCgroup: string): string | null {
  const line = selfCgroup.split('\n').find((each) => each.startsWith('0::'));
  return line === undefined ? null : line.slice('0::'.length);
}
