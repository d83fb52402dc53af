import type { Group } from '../cgroups/groups.ts';
import { identify, killProcess } from './process-identity.ts';

/** SIGKILL to every process that is in the group now. */
export function killMembers(group: Group): void {
  for (const pid of group.members()) {
    const member = identify(pid);
    if (member !== null) killProcess(member);
  }
}
