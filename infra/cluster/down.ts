import { rm } from 'node:fs/promises';
import { CommandError } from '#cli/command-error.ts';
import { largestCluster, leftBehind, mountsBelow } from './left-behind.ts';
import { removeControlGroup } from './machine/control-groups.ts';
import { recordedDaemons, stopDaemon } from './machine/daemon.ts';
import { run } from './machine/run.ts';
import { removeNamespace } from './network.ts';

/**
 * Takes a cluster away, whole, half started or half dead: its name is enough. The daemons are asked to end; what containerd
 * leaves running (shims and pods) is found by the nodes' control groups. Throws when anything is left.
 */
export async function takeDown(name: string): Promise<void> {
  const plan = largestCluster(name);
  await Promise.all(recordedDaemons(plan.pids).map((daemon) => stopDaemon(plan.pids, daemon)));
  await Promise.all(plan.nodes.map((node) => removeControlGroup(node.controlGroup)));
  for (const mount of await mountsBelow(plan.folder)) await run(['umount', '--lazy', mount]);
  for (const node of plan.nodes) await removeNamespace(node.namespace);
  await removeNamespace(plan.hub);
  await rm(plan.folder, { recursive: true, force: true });
  const left = await leftBehind(name);
  if (left.length === 0) return;
  throw new CommandError(
    `of the cluster "${name}" this is left:\n${left.join('\n')}`,
    'this machine',
    `end or remove it by hand, then: npm run cluster -- down --name ${name}`,
  );
}
