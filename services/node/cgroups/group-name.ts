import { createHash } from 'node:crypto';

/** The folder of a node's groups. Two nodes of one machine, a test's and a person's, never take each other's for orphans. */
export function groupName(fleet: string, stateFolder: string): string {
  return `${fleet}-${createHash('sha256').update(stateFolder).digest('hex').slice(0, 8)}`;
}
