import type { V1ResourceRequirements } from '@kubernetes/client-node';
import type { Template } from '#src/model/environment.ts';
import type { SandboxdInjection } from '#src/model/cluster.ts';

/** The copy that an init container makes of the payload counts as the pod's own: 130 MB, and some room. */
const copiedPayloadBytes = 192 * 1024 * 1024;

/**
 * What a sandbox may take. Disk is asked for in full: where promises exceed the node's disk, the kubelet evicts whom it
 * likes, and that would be our failure. Processes cannot be limited by a pod; the kubelet's `podPidsLimit` does, for all
 * pods of a node alike.
 */
export function resources(template: Template, injection: SandboxdInjection): V1ResourceRequirements {
  const { cpu, memory } = template;
  const disk = String(template.diskBytes + (injection.kind === 'init_container' ? copiedPayloadBytes : 0));
  return {
    requests: { ...amounts(cpu.requestMilli, memory.requestBytes), 'ephemeral-storage': disk },
    limits: { ...amounts(cpu.limitMilli, memory.limitBytes), 'ephemeral-storage': disk },
  };
}

const amounts = (cpuMilli: number, memoryBytes: number) => ({
  cpu: `${cpuMilli}m`,
  memory: String(memoryBytes),
});
