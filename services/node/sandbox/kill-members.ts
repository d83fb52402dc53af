import type { Group } from '../cgroups/groups.ts';
import { identify, killProcess } from './process-identity.ts';

/** SIGKILL to every process that is in the group now. */
export async function killMembers(group: Group): Promise<void> {
  for (const pid of await group.members()) {
    const member = await identify(pid);
    if (member !== null) await killProcess(member);
  }
}
